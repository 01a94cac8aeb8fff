/**
 * Owns a workflow as it stood right after one of its checkpoints, from the history itself: its events up to there are folded anew, from
 * whichever tier has them. The same sequence gives the same state for ever. Must not write.
 */

import { decodePayload, decodeRecord } from '@tidemark/codec';
import {
  type Controls,
  CorruptError,
  emptyPartition,
  foldEntry,
  foldStream,
  type Generation,
  InvalidError,
  type Offset,
  type Sequence,
  type StreamState,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type { CheckpointRow, EventLog, ProjectionStore, StoredRecord, WorkflowSummary } from '@tidemark/ports';
import { StreamContent } from './content.ts';
import { historyForgotten } from './forgotten.ts';
import { HISTORY_READ_MAX_BYTES } from './limits.ts';
import { isArchivedObject } from './recalls.ts';

export interface PastWorkflow {
  /** Folded to the checkpoint, and no further. */
  readonly state: StreamState;
  /** Input, belief, inputs of the pending tasks, what their effects had come to. */
  readonly content: StreamContent;
  readonly opening: Controls['WorkflowOpened'];
  /** The checkpoint itself; sequence 0 is the opening. */
  readonly checkpoint: CheckpointRow;
}

type Reads = Pick<ProjectionStore, 'workflow' | 'checkpoints'>;

/**
 * Throws `InvalidError` (`workflow-unknown`, `sequence-unknown`, `history-forgotten`), `CorruptError` (`history-differs`),
 * `UnavailableError` (`object-archived`: restore it first).
 */
export async function workflowAt(
  { log, store }: { readonly log: EventLog; readonly store: Reads },
  workflow: WorkflowId,
  sequence: Sequence,
): Promise<PastWorkflow> {
  const row = await store.workflow(workflow);
  if (row === undefined)
    throw new InvalidError('workflow-unknown', `No workflow has the id '${workflow}'.`, { workflow });
  const [opening] = await store.checkpoints(workflow, { from: 0 as Sequence, limit: 1 });
  const [checkpoint] = sequence >= 0 ? await store.checkpoints(workflow, { from: sequence, limit: 1 }) : [];
  if (opening?.sequence !== 0 || checkpoint?.sequence !== sequence) {
    const newest = row.sequence === 0 ? 'no checkpoint yet' : `checkpoints 1 to ${row.sequence}`;
    throw new InvalidError(
      'sequence-unknown',
      `at: workflow ${workflow} has ${newest} (0 is its opening), and none with sequence ${sequence}.`,
      { workflow, sequence, newest: row.sequence },
    );
  }
  const past = new Past(row);
  for (let at = opening.offset; at <= checkpoint.offset; ) {
    const read = log.read([{ partition: row.partition, from: at }], { maxBytes: HISTORY_READ_MAX_BYTES });
    const [result] = await read.catch((error: unknown) => {
      throw isArchivedObject(error) ? archived(workflow, error) : error;
    });
    const records = result!.records.filter(({ offset }) => offset <= checkpoint.offset);
    if (records.length === 0) break;
    for (const record of records) past.add(record);
    at = (at + records.length) as Offset;
  }
  return { ...past.at(sequence), checkpoint };
}

/** What else is in the partition is no part of it; what a stream accepts depends on nothing but itself. */
class Past {
  readonly #row: WorkflowSummary;
  readonly #content = new StreamContent();
  #opening: Controls['WorkflowOpened'] | undefined;
  #stream: StreamState | undefined;

  constructor(row: WorkflowSummary) {
    this.#row = row;
  }

  add({ offset, value }: StoredRecord): void {
    const { workflow, partition, generation } = this.#row;
    const entry = decodeRecord(value);
    if (entry.kind !== 'event' || entry.envelope.workflow !== workflow) return;
    const { envelope, payload } = entry;
    if (this.#stream !== undefined) {
      const { stream, verdict } = foldStream(this.#stream, envelope);
      this.#stream = stream;
      if (verdict.kind === 'accepted') this.#content.apply(envelope, payload);
      return;
    }
    if (envelope.type !== 'WorkflowOpened') return;
    // The generation before its own: then its opening is the next.
    const before = { ...emptyPartition(partition, offset), generation: (generation - 1) as Generation };
    this.#stream = foldEntry(before, entry).state.streams.get(workflow);
    if (this.#stream === undefined) return;
    if (!('input' in decodePayload('WorkflowOpened', payload))) throw historyForgotten(workflow);
    this.#opening = envelope.control;
    this.#content.apply(envelope, payload);
  }

  at(sequence: Sequence): Omit<PastWorkflow, 'checkpoint'> {
    const { workflow } = this.#row;
    if (this.#opening === undefined || this.#stream?.head.sequence !== sequence) {
      throw new CorruptError(
        'history-differs',
        `Workflow ${workflow}: what its events up to checkpoint ${sequence} fold to is not what its rows say. Run \`tidemark verify\`, and make the rows anew from the log.`,
        { workflow, sequence },
      );
    }
    return { state: this.#stream, content: this.#content, opening: this.#opening };
  }
}

const archived = (workflow: WorkflowId, cause: unknown): UnavailableError =>
  new UnavailableError(
    'object-archived',
    `Events of workflow ${workflow} are in an archive class. Ask for them with \`tidemark restore ${workflow}\`, which tells when they are back.`,
    { workflow, cause },
  );
