/**
 * Owns the accepted events of one workflow, each with its position, read from whichever tier has them. The same history always gives the
 * same events. It never writes.
 */

import { entryOf, payloadText, recordUnreadable } from '@tidemark/codec';
import {
  type Controls,
  CorruptError,
  type Envelope,
  emptyPartition,
  foldEntry,
  foldRecord,
  type Generation,
  type Offset,
  type Partition,
  type Position,
  type Sequence,
  type StreamState,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type { EventLog, ProjectionStore, StoredRecord, WorkflowSummary } from '@tidemark/ports';
import { historyForgotten, isForgotten } from '../kernel/index.ts';
import { HISTORY_READ_MAX_BYTES } from './limits.ts';

export interface AcceptedEvent {
  readonly position: Position;
  readonly offset: Offset;
  readonly envelope: Envelope;
  readonly payload: Uint8Array;
}

export type StreamPlacement = Pick<WorkflowSummary, 'workflow' | 'partition' | 'generation'>;

/** Folds one workflow and ignores the rest of its partition: what a stream accepts depends only on the stream. */
export class StreamFold {
  readonly #place: StreamPlacement;
  #stream: StreamState | undefined;

  /** `stream` is the state before the first record; absent: the first records lead to the opening. */
  constructor(place: StreamPlacement, stream?: StreamState) {
    this.#place = place;
    // The fold skips the unreadable record at which the stream stopped, whatever is decided about it.
    const hasStopped = stream?.unreadable?.problem !== undefined;
    this.#stream = hasStopped ? { ...stream, unreadable: null } : stream;
  }

  get stream(): StreamState | undefined {
    return this.#stream;
  }

  /** Undefined: the record is no event of this workflow, or it was rejected. */
  add(record: StoredRecord): AcceptedEvent | undefined {
    const { workflow, partition, generation } = this.#place;
    const entry = entryOf(record);
    if (entry.kind !== 'event' || entry.envelope.workflow !== workflow) return undefined;
    const { envelope, payload } = entry;
    const { offset } = record;
    if (this.#stream !== undefined) {
      const { stream, verdict } = foldRecord(this.#stream, entry, offset);
      // An unreadable record that stopped the stream was skipped, or still waits for a judgement.
      if (verdict.kind !== 'accepted') return undefined;
      this.#stream = stream;
      return { position: verdict.position, offset, envelope, payload };
    }
    if (envelope.type !== 'WorkflowOpened') return undefined;
    if (entry.problem !== undefined) throw recordUnreadable(entry);
    // The partition's generation must be one less than the workflow's, so that its opening is the next.
    const before = { ...emptyPartition(partition, offset), generation: (generation - 1) as Generation };
    this.#stream = foldEntry(before, entry).state.streams.get(workflow);
    return this.#stream && { position: this.#stream.position, offset, envelope, payload };
  }
}

/**
 * Reads from the opening to `last`, both included. Throws `UnavailableError` (`object-archived`: restore it first), and what the log
 * throws.
 */
export async function* eventsThrough(
  log: EventLog,
  place: StreamPlacement,
  [first, last]: readonly [first: Offset, last: Offset],
): AsyncGenerator<AcceptedEvent, StreamFold> {
  const fold = new StreamFold(place);
  for (let at = first; at <= last; ) {
    const page = await historyPage(log, place, at, HISTORY_READ_MAX_BYTES);
    const records = page.filter(({ offset }) => offset <= last);
    if (records.length === 0) break;
    for (const record of records) {
      const event = fold.add(record);
      if (event !== undefined) yield event;
    }
    at = (at + records.length) as Offset;
  }
  return fold;
}

/** From the opening up to this position. Throws as `eventsThrough`. */
export async function* eventsUpTo(
  log: EventLog,
  place: StreamPlacement,
  first: Offset,
  last: Position,
): AsyncGenerator<AcceptedEvent> {
  const fold = new StreamFold(place);
  for (let at = first; ; ) {
    const records = await historyPage(log, place, at, HISTORY_READ_MAX_BYTES);
    if (records.length === 0) throw logGap(place.partition, at);
    for (const record of records) {
      const event = fold.add(record);
      if (event !== undefined) yield event;
      if (event?.position === last) return;
    }
    at = (at + records.length) as Offset;
  }
}

/** The next records of its partition. Throws as `eventsThrough`. */
export async function historyPage(
  log: EventLog,
  { partition, workflow }: StreamPlacement,
  from: Offset,
  maxBytes: number,
): Promise<readonly StoredRecord[]> {
  const [result] = await log.read([{ partition, from }], { maxBytes }).catch((error: unknown) => {
    throw isArchivedObject(error) ? archived(workflow, error) : error;
  });
  return result!.records;
}

/** The offset of the opening. Throws `InvalidError` (`history-forgotten`) when rows no longer have it. */
export async function openingOffset(
  store: Pick<ProjectionStore, 'checkpoints'>,
  workflow: WorkflowId,
): Promise<Offset> {
  const [opening] = await store.checkpoints(workflow, { from: 0 as Sequence, limit: 1 });
  if (opening?.sequence !== 0) throw historyForgotten(workflow);
  return opening.offset;
}

/** Throws `InvalidError` (`history-forgotten`), `CorruptError` (`history-differs`). */
export function openingIn({ envelope, payload }: AcceptedEvent, workflow: WorkflowId): Controls['WorkflowOpened'] {
  if (envelope.type !== 'WorkflowOpened') throw historyDiffers(workflow, 0 as Sequence);
  if (isForgotten({ payload: payloadText(payload) })) throw historyForgotten(workflow);
  return envelope.control;
}

export const historyDiffers = (workflow: WorkflowId, sequence: Sequence): CorruptError =>
  new CorruptError(
    'history-differs',
    `Workflow ${workflow}: what its events up to checkpoint ${sequence} fold to is not what its rows say. Run \`tidemark admin verify\`, and rebuild the rows from the log.`,
    { workflow, sequence },
  );

/** The error for a workflow whose history is needed but archived. */
export const archived = (workflow: WorkflowId, cause: unknown): UnavailableError =>
  new UnavailableError(
    'object-archived',
    `Events of workflow ${workflow} are in an archive class. Request them with \`tidemark admin restore ${workflow}\`, which says when they are back.`,
    { workflow, cause },
  );

/** Whether a read failed because the object must be recalled first. */
export const isArchivedObject = (error: unknown): boolean =>
  error instanceof UnavailableError && error.code === 'object-archived';

/** A read returned less than the log reported to have; a later read may return it. */
export const logGap = (partition: Partition, from: Offset): UnavailableError =>
  new UnavailableError('log-gap', `Partition ${partition} doesn't show what it holds at ${from}.`, { partition, from });
