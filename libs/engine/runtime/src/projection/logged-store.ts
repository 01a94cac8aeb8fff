/**
 * Owns a view of rows with payloads. Rows of history have the place of each record, and the log has its payload (see record-place.ts of the
 * ports), so payloads have one home, where they are sealed, moved into blobs and archived. The log below must resolve blobs, and must open
 * sealed records where there are keys.
 */

import {
  entryOf,
  historyClosed,
  keepJson,
  payloadText,
  readingNow,
  recordUnreadable,
  SEALED_VERSION,
} from '@tidemark/codec';
import type { EventEntry, Offset, Partition, WorkflowId } from '@tidemark/core';
import {
  type EventLog,
  type JsonText,
  type ProjectionStore,
  placeText,
  type ReadRequest,
  type RecordPlace,
  type RowStore,
  rowsWrong,
  type StoredRecord,
} from '@tidemark/ports';
import { archived, HISTORY_READ_MAX_BYTES, isArchivedObject, logGap } from '../history/index.ts';
import { overridden } from '../kernel/index.ts';
import * as rows from './row-places.ts';

/** Estimated size of a record beside its payload; and the widest gap between two wanted records that one read spans. */
const RECORD_LIKELY_BYTES = 2 * 1024;
const RECORDS_BETWEEN_MAX = 32;

type Log = Pick<EventLog, 'read'>;

/** The store, with each record's place replaced by its payload. */
export const loggedStore = (store: RowStore, log: Log): ProjectionStore => overridden(store, loggedReads(store, log));

/** Names of every read whose rows have places of records, derived from the types. */
type NamingReads = keyof {
  [K in keyof RowStore as RowStore[K] extends ProjectionStore[K] ? never : K]: unknown;
} &
  keyof RowStore;
export type Reads<Payload> = Pick<ProjectionStore<Payload>, NamingReads>;

/** The operations of the view. They do not read the log when there are no rows. */
export const loggedReads = (store: Reads<RecordPlace>, log: Log): Reads<JsonText> => ({
  loadStreams: async (ids, of) => {
    const found = await store.loadStreams(ids);
    if (of?.payloads === false) return found.map((row) => rows.fillSnapshot(row, () => ''));
    return filled(log, found, rows.fillSnapshot);
  },
  checkpoints: async (id, of) => filledOf(log, id, await store.checkpoints(id, of), rows.fillCheckpoint),
  effects: async (id, of) => filledOf(log, id, await store.effects(id, of), rows.fillEffect),
  effectPage: async (id, of) => filledOf(log, id, await store.effectPage(id, of), rows.fillEffect),
  events: async (id, ...of) => filledOf(log, id, await store.events(id, ...of), rows.fillEvent),
});

type Fill<From, To> = (row: From, payloadAt: rows.PayloadOf<RecordPlace>) => To;

/** Fills each row twice: first only to note which places it names, and then, once their records are read, with the payloads. */
async function filled<From, To>(log: Log, found: readonly From[], fill: Fill<From, To>): Promise<readonly To[]> {
  const places = new Set<RecordPlace>();
  const note: rows.PayloadOf<RecordPlace> = (place) => {
    places.add(place);
    return '';
  };
  for (const row of found) fill(row, note);
  readingNow()?.keep(Array.from(places).reduce((sum, { bytes }) => sum + bytes, 0));
  const entries = await entriesAt(log, places);
  return found.map((row) =>
    fill(row, (place, fits) => {
      const entry = entries.get(place.partition)?.get(place.offset);
      if (entry === undefined || !fits(entry.envelope)) throw rowsWrong(placeText(place));
      if (entry.problem !== undefined) throw recordUnreadable(entry);
      if (entry.envelope.v === SEALED_VERSION) throw historyClosed(entry.envelope.type, entry.payload);
      return payloadText(entry.payload);
    }),
  );
}

async function filledOf<From, To>(
  log: Log,
  workflow: WorkflowId,
  found: readonly From[],
  fill: Fill<From, To>,
): Promise<readonly To[]> {
  try {
    return await filled(log, found, fill);
  } catch (error) {
    throw isArchivedObject(error) ? archived(workflow, error) : error;
  }
}

/** The wanted records of one partition, by offset. */
interface Wanted {
  readonly places: readonly RecordPlace[];
  /** How many of the places have been read. */
  doneCount: number;
  readonly entries: Map<Offset, EventEntry>;
}

/**
 * The entries at these places that are events, by partition and offset. One read covers places that are close together. Throws what
 * `EventLog.read` throws, and `UnavailableError` (`log-gap`).
 */
async function entriesAt(
  log: Log,
  places: Iterable<RecordPlace>,
): Promise<ReadonlyMap<Partition, ReadonlyMap<Offset, EventEntry>>> {
  const wanted = wantedIn(places);
  const found = new Map([...wanted].map(([partition, { entries }]) => [partition, entries]));
  while (wanted.size > 0) {
    const stretches = [...wanted].map(([partition, want]) => stretchOf(partition, want));
    const results = await log.read(stretches, { maxBytes: likelyBytes(stretches) });
    let isMoved = false;
    for (const { partition, records } of results) {
      const want = wanted.get(partition)!;
      for (const record of records) isMoved = take(want, record) || isMoved;
      if (want.doneCount === want.places.length) wanted.delete(partition);
    }
    if (!isMoved) throw logGap(stretches[0]!.partition, stretches[0]!.from);
  }
  return found;
}

function wantedIn(places: Iterable<RecordPlace>): Map<Partition, Wanted> {
  const byPartition = Map.groupBy(places, ({ partition }) => partition);
  return new Map(
    Array.from(byPartition, ([partition, own]) => [
      partition,
      { places: own.sort((a, b) => a.offset - b.offset), doneCount: 0, entries: new Map() },
    ]),
  );
}

/** True: the record is the next wanted one. */
function take(want: Wanted, record: StoredRecord): boolean {
  const before = want.doneCount;
  // Two rows may have the same place.
  while (want.places[want.doneCount]?.offset === record.offset) want.doneCount++;
  if (want.doneCount === before) return false;
  const entry = entryOf(record);
  if (entry.kind === 'event') {
    keepJson(entry.payload);
    want.entries.set(record.offset, entry);
  }
  return true;
}

type Stretch = ReadRequest & { readonly bytes: number };

/** The next stretch to read. */
function stretchOf(partition: Partition, { places, doneCount }: Wanted): Stretch {
  const from = places[doneCount]!.offset;
  const wanted = new Set<Offset>();
  let [last, bytes] = [from, 0];
  for (const place of places.slice(doneCount)) {
    if (place.offset - last > RECORDS_BETWEEN_MAX) break;
    last = place.offset;
    wanted.add(last);
    bytes += place.bytes;
  }
  const to = (last + 1) as Offset;
  return { partition, from, to, wanted, bytes: bytes + (to - from) * RECORD_LIKELY_BYTES };
}

/** A broker sends as many bytes as it may, whether or not they are wanted. */
const likelyBytes = (stretches: readonly Stretch[]): number =>
  Math.min(
    stretches.reduce((sum, { bytes }) => sum + bytes, 0),
    HISTORY_READ_MAX_BYTES,
  );
