/**
 * Owns a workflow as it stood right after one of its checkpoints, from the history itself: its events up to there are folded anew, from
 * whichever tier has them. The same sequence gives the same state for ever. Must not write.
 */

import { decodePayload, decodeRecord } from '@tidemark/codec';
import {
  applyDelta,
  CorruptError,
  type Delta,
  emptyPartition,
  foldEntry,
  foldStream,
  type Generation,
  InvalidError,
  type Json,
  type Offset,
  type Sequence,
  type StreamState,
  type WorkflowId,
} from '@tidemark/core';
import type { CheckpointRow, EventLog, ProjectionStore, StoredRecord, WorkflowSummary } from '@tidemark/ports';
import { HISTORY_READ_MAX_BYTES, OUTPUTS_PAGE_COUNT } from './limits.ts';

export interface PastWorkflow {
  /** Folded to the checkpoint, and no further. */
  readonly state: StreamState;
  readonly belief: Json;
  /** The checkpoint itself; sequence 0 is the opening. */
  readonly checkpoint: CheckpointRow;
}

type Reads = Pick<ProjectionStore, 'workflow' | 'checkpoints'>;

/** Throws `InvalidError` (`workflow-unknown`, `sequence-unknown`), `CorruptError`, `UnavailableError`. */
export async function workflowAt(
  { log, store }: { readonly log: EventLog; readonly store: Reads },
  workflow: WorkflowId,
  sequence: Sequence,
): Promise<PastWorkflow> {
  const row = await store.workflow(workflow);
  if (row === undefined) throw new InvalidError('workflow-unknown', `There is no workflow ${workflow}.`, { workflow });
  const [opening] = await store.checkpoints(workflow, { from: 0 as Sequence, limit: 1 });
  const [checkpoint] = await store.checkpoints(workflow, { from: sequence, limit: 1 });
  if (opening === undefined || checkpoint?.sequence !== sequence) {
    throw new InvalidError(
      'sequence-unknown',
      `Workflow ${workflow} has checkpoints 1 to ${row.sequence} (0 is its opening), none with sequence ${sequence}.`,
      { workflow, sequence, newest: row.sequence },
    );
  }
  const state = await foldedTo(log, row, opening.offset, checkpoint);
  return { state, belief: await beliefAt(store, workflow, sequence), checkpoint };
}

async function foldedTo(
  log: EventLog,
  { workflow, partition, generation }: WorkflowSummary,
  from: Offset,
  { offset: to, sequence }: CheckpointRow,
): Promise<StreamState> {
  let stream: StreamState | undefined;
  for (let at = from; at <= to; ) {
    const [result] = await log.read([{ partition, from: at }], { maxBytes: HISTORY_READ_MAX_BYTES });
    const records = result!.records.filter(({ offset }) => offset <= to);
    if (records.length === 0) break;
    for (const record of records) stream = folded(stream, record, workflow, partition, generation);
    at = (at + records.length) as Offset;
  }
  if (stream?.head.sequence === sequence) return stream;
  throw new CorruptError(
    'history-differs',
    `Workflow ${workflow}: what its events up to checkpoint ${sequence} fold to is not what its rows say. Run \`tidemark verify\`, and make the rows anew from the log.`,
    { workflow, sequence },
  );
}

/** What else is in the partition is no part of it; what a stream accepts depends on nothing but itself. */
function folded(
  stream: StreamState | undefined,
  { offset, value }: StoredRecord,
  workflow: WorkflowId,
  partition: WorkflowSummary['partition'],
  generation: Generation,
): StreamState | undefined {
  const entry = decodeRecord(value);
  if (entry.kind !== 'event' || entry.envelope.workflow !== workflow) return stream;
  if (stream !== undefined) return foldStream(stream, entry.envelope).stream;
  // The generation before its own: then its opening is the next.
  const before = { ...emptyPartition(partition, offset), generation: (generation - 1) as Generation };
  return foldEntry(before, entry).state.streams.get(workflow);
}

/** From the newest whole belief at or before the checkpoint. */
async function beliefAt(store: Reads, workflow: WorkflowId, to: Sequence): Promise<Json> {
  let belief: Json = null;
  for (let next = 0; next <= to; ) {
    const limit = Math.min(OUTPUTS_PAGE_COUNT, to - next + 1);
    const page = await store.checkpoints(workflow, { from: next as Sequence, limit });
    for (const row of page) belief = believed(belief, row);
    const last = page.at(-1);
    if (last === undefined) break;
    next = last.sequence + 1;
  }
  return belief;
}

function believed(before: Json, { sequence, belief, payload }: CheckpointRow): Json {
  if (sequence === 0) return decodePayload('WorkflowOpened', payload).belief;
  if (belief === 'none') return before;
  const { snapshot, delta } = decodePayload('CheckpointCommitted', payload);
  if (snapshot !== undefined) return snapshot;
  return delta === undefined ? before : applyDelta(before, delta as Delta);
}
