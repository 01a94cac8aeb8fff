/**
 * Owns a stream that is written from outside a worker: reported steps of an agent that runs elsewhere, and the system's own streams. Claim,
 * checkpoints and release go to the log in one append, so no lease outlives a write: no heartbeats are needed, and a process that dies
 * leaves nothing half done. What is too large for one append goes in several; a death between them leaves a lease that coordinators revoke
 * like any other. It does not know what the checkpoints mean.
 */

import type { EventEntry, StreamState } from '@tidemark/core';
import {
  checkpointId,
  type HolderId,
  InvalidError,
  isClosed,
  type Offset,
  type Partition,
  type Sequence,
  streamFromJson,
  UnavailableError,
  uuidv7,
  type WorkflowId,
} from '@tidemark/core';
import type { StreamSnapshot } from '@tidemark/ports';
import { type Definition, REPORT_STEP, type StepResult } from '../definition/index.ts';
import { StreamContent } from '../history/index.ts';
import type { LamportClock, Ports } from '../kernel/index.ts';
import { type Draft, LeasedStream } from '../lease/index.ts';
import { commitDrafts, releaseDraft } from '../run/index.ts';

export interface ReportedStreamOptions {
  readonly ports: Ports;
  readonly lamport: LamportClock;
  readonly holder: HolderId;
  /** Receives every accepted event that this object did not write. */
  readonly onForeign?: (entry: EventEntry) => void;
}

/** Adds events that are accepted or rejected together. Rejects with `LimitError` when they are too large: then none is added. */
export type Add = (drafts: readonly Draft[]) => Promise<void>;

export class ReportedStream {
  readonly partition: Partition;
  readonly content: StreamContent;
  readonly #stream: LeasedStream;
  readonly #ports: Ports;

  private constructor(snapshot: StreamSnapshot, options: ReportedStreamOptions) {
    const { ports, lamport, holder, onForeign } = options;
    const state = streamFromJson(snapshot.state, snapshot.tasks);
    lamport.witness(state.lamport);
    this.#ports = ports;
    this.partition = snapshot.partition;
    this.content = StreamContent.from(snapshot, state);
    this.#stream = new LeasedStream(state, snapshot.next, {
      ports,
      lamport,
      partition: snapshot.partition,
      holder,
      onForeign: (entry) => {
        this.content.apply(entry.envelope, entry.payload);
        onForeign?.(entry);
      },
    });
  }

  /** Loads the stream from rows, and from the log what rows don't have yet; undefined while rows don't know it. */
  static async load(workflow: WorkflowId, options: ReportedStreamOptions): Promise<ReportedStream | undefined> {
    const [snapshot] = await options.ports.store.loadStreams([workflow]);
    if (snapshot === undefined) return undefined;
    const loaded = new ReportedStream(snapshot, options);
    await loaded.#catchUp();
    return loaded;
  }

  /** Its state, including what is being written. */
  get state(): StreamState {
    return this.#stream.speculative;
  }

  /** First offset of its partition that it has not folded. */
  get next(): Offset {
    return this.#stream.next;
  }

  /** The checkpoint of a step that no task announced. Throws `InvalidError` (`not-recorded`): the stream was opened by another way. */
  draftsOf(definition: Definition, stepName: string, result: StepResult): readonly Draft[] {
    const { clock, prng, digest } = this.#ports;
    const { state, content } = this;
    const step = definition.steps.get(stepName);
    const task = state.frontier.tasks.find((pending) => pending.step === REPORT_STEP);
    if (step === undefined || task === undefined) {
      const message = `Workflow ${state.workflow} was not opened to be recorded.`;
      throw new InvalidError('not-recorded', message, { workflow: state.workflow });
    }
    return commitDrafts({
      ...{ definition, step, task, result, content, digest },
      input: null,
      notes: [],
      isLast: false,
      checkpoint: checkpointId(uuidv7(clock.nowMs(), prng.bytes(10))),
      sequence: (state.head.sequence + 1) as Sequence,
      parent: state.head.checkpoint,
      nowMs: clock.nowMs(),
    });
  }

  async #catchUp(): Promise<void> {
    const stream = this.#stream;
    for (let before = -1; before < stream.next; ) {
      before = stream.next;
      await stream.catchUp();
    }
    if (stream.fenced !== undefined) throw stream.fenced;
  }

  /**
   * Claims, writes what `compose` adds, releases, and resolves once the log has accepted all of it. After any failure this object must be
   * dropped and loaded again: `FencedError` when another process wrote first, `UnavailableError` (`stream-leased`) while another process
   * has a live lease.
   */
  async write(compose: (add: Add) => Promise<void>): Promise<void> {
    const stream = this.#stream;
    if (stream.fenced !== undefined) throw stream.fenced;
    if (stream.speculative.lease !== null) throw leased(stream.speculative);
    const accepted = [stage(stream, [{ type: 'LeaseClaimed', control: {}, payload: null }])];
    await compose(async (drafts) => {
      const before = stream.speculative;
      const settled = stage(stream, drafts);
      if (stream.speculative === before) await settled;
      accepted.push(settled);
      this.#follow(drafts);
    });
    if (!isClosed(stream.speculative)) {
      accepted.push(stage(stream, [releaseDraft('idle')]));
    }
    stream.flush();
    await Promise.all(accepted);
  }

  #follow(drafts: readonly Draft[]): void {
    for (const draft of drafts) {
      if (draft.type !== 'CheckpointCommitted') continue;
      const { delta, snapshot } = draft.payload;
      this.content.committed(draft.control, draft.payload, JSON.stringify(delta ?? snapshot ?? null).length);
    }
  }
}

/** Handles the rejection, because nobody may await it once an earlier one has failed. */
function stage(stream: LeasedStream, drafts: readonly Draft[]): Promise<void> {
  const accepted = stream.stage(drafts);
  accepted.catch(() => {});
  return accepted;
}

const leased = ({ workflow, lease }: StreamState): UnavailableError =>
  new UnavailableError('stream-leased', `Workflow ${workflow} is being written by ${lease?.holder}.`, {
    workflow,
    holder: lease?.holder,
  });
