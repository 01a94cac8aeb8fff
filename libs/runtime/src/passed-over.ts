/**
 * Owns streams that a release which couldn't read them has passed over: it stopped their fold at an event and went on in the partition. A release
 * that can read the event folds what came since, of these streams alone; rows follow from there as if nobody had stopped.
 *
 * Where a partition is shared, a stream that ended in that stretch may be noted as closed in another generation than a fold without a stop would
 * say: later events of it may be rejected for another reason, nothing else rests on it.
 */

import { decodeRecord } from '@tidemark/codec';
import {
  CorruptError,
  foldEntry,
  type Generation,
  type LogEntry,
  type Offset,
  type PartitionState,
  partitionFrom,
  type StreamState,
  streamFromJson,
} from '@tidemark/core';
import type { EventLog, FoldedPartition, ProjectionBatch } from '@tidemark/ports';
import { LeftOut } from './left-out.ts';
import { PROJECTION_READ_MAX_BYTES } from './limits.ts';
import { ProjectionBuilder } from './projection.ts';

export interface GoneOn {
  readonly state: PartitionState;
  /** By which the partition stays where it is. */
  readonly batch: ProjectionBatch;
}

/** A newer release may have written rows that this one can't read (`state-version`): their partition is left to that one. */
export function stateOf({ partition, next, generation, streams }: FoldedPartition): PartitionState | CorruptError {
  try {
    const read = streams.map(({ state, tasks }) => streamFromJson(state, tasks));
    return partitionFrom(partition, next, generation, read);
  } catch (error) {
    if (error instanceof CorruptError && error.code === 'state-version') return error;
    throw error;
  }
}

/** What others wrote in the stretch has its rows. */
class Others extends LeftOut {
  readonly #offsets: ReadonlySet<Offset>;

  constructor(offsets: ReadonlySet<Offset>) {
    super([], [], 0 as Offset);
    this.#offsets = offsets;
  }

  override hasRejected(offset: Offset): boolean {
    return this.#offsets.has(offset);
  }
}

/** Undefined: no stream was passed over that this release can read. Throws as the log does. */
export async function goneOn(state: PartitionState, log: Pick<EventLog, 'read'>): Promise<GoneOn | undefined> {
  const stopped = [...state.streams.values()].filter(({ unreadable }) => unreadable !== null);
  const rows = new ProjectionBuilder();
  let after = state;
  for (const stream of stopped) {
    const entries = await entriesFrom(stream.unreadable!.offset, state, log);
    const stretch = stretchOf(state, stream, entries);
    if (stretch === undefined) continue;
    const { before, own, others } = stretch;
    const folded = rows.fold(before, own, new Others(others), new Map([[stream.workflow, stream]]));
    after = { ...after, streams: new Map(after.streams).set(stream.workflow, folded.streams.get(stream.workflow)!) };
  }
  if (after === state) return undefined;
  const { partition, next, generation } = state;
  return { state: after, batch: { ...rows.batch(), partitions: [{ partition, from: next, to: next, generation }] } };
}

/** Everything from there to where the partition stands. */
async function entriesFrom(from: Offset, { partition, next }: PartitionState, log: Pick<EventLog, 'read'>) {
  const entries: LogEntry[] = [];
  while (from + entries.length < next) {
    const at = (from + entries.length) as Offset;
    const [result] = await log.read([{ partition, from: at }], { maxBytes: PROJECTION_READ_MAX_BYTES });
    const found = (result?.records ?? []).slice(0, next - at);
    // Rows are ahead of the replica that answers.
    if (found.length === 0) return entries;
    entries.push(...found.map(({ value }) => decodeRecord(value)));
  }
  return entries;
}

/** The stream where it was stopped, and what is to be folded from there; undefined where this release stops there too, or can't see it all. */
function stretchOf(state: PartitionState, stream: StreamState, entries: readonly LogEntry[]) {
  const from = stream.unreadable!.offset;
  const [first] = entries;
  if (first?.kind !== 'event' || from + entries.length < state.next) return undefined;
  const { envelope } = first;
  const { workflow } = stream;
  const isOpening = envelope.type === 'WorkflowOpened';
  const opened = isOpening ? openedAgain(state, stream, first, from) : { ...stream, unreadable: null };
  if (opened.unreadable !== null) return undefined;
  const rest = isOpening ? entries.slice(1) : entries;
  const next = (isOpening ? from + 1 : from) as Offset;
  const others = new Set<Offset>();
  const own = rest.map((entry, at): LogEntry => {
    const of = entry.kind === 'event' ? entry.envelope.workflow : entry.kind === 'unknown' ? entry.workflow : undefined;
    if (of === workflow) return entry;
    others.add((next + at) as Offset);
    return { kind: 'malformed', problem: '' };
  });
  const before: PartitionState = { ...state, next, streams: new Map([[workflow, opened]]) };
  return { before, own, others };
}

/** An opening has its rows, and its state may lack what the other release didn't know. */
function openedAgain(state: PartitionState, stream: StreamState, entry: LogEntry, from: Offset): StreamState {
  const generation = (stream.generation - 1) as Generation;
  const before: PartitionState = { ...state, next: from, generation, streams: new Map() };
  return foldEntry(before, entry).state.streams.get(stream.workflow) ?? stream;
}
