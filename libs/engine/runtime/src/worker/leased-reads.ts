/**
 * Owns a holder's reads of its own workflow from rows (checkpoints, outputs, effects), which wait until rows have everything that the
 * holder has folded. `context-reads.ts` reads its context.
 */

import { decodePayload, type ForkOrigin } from '@tidemark/codec';
import type { EffectKey, Fork, Json, Offset, Partition, Position, Sequence, TaskId, WorkflowId } from '@tidemark/core';
import type { Journaled } from '../definition/index.ts';
import type { RecordedCalls } from '../effects/index.ts';
import {
  type Applied,
  ForkTaskMap,
  journalOf,
  outputsOf,
  type PageOf,
  Replay,
  type ReplayOrigin,
  type StreamContent,
} from '../history/index.ts';
import { type Ports, whileUnavailable } from '../kernel/index.ts';
import type { LeasedStream } from '../lease/index.ts';
import type { HeadCheckpoint } from '../run/index.ts';
import { leftUndone } from '../sagas/index.ts';

export interface LeasedReadsOptions {
  readonly ports: Pick<Ports, 'store' | 'clock'>;
  readonly applied: Applied;
  readonly stream: LeasedStream;
  readonly partition: Partition;
  /** The fork origin of a workflow that is a fork. */
  readonly fork: ForkOrigin | undefined;
  /** Ends every wait. */
  readonly signal: AbortSignal;
}

export class LeasedReads {
  readonly #options: LeasedReadsOptions;

  constructor(options: LeasedReadsOptions) {
    this.#options = options;
  }

  /** Resolves once rows have everything that this holder has written. */
  async settled(): Promise<void> {
    const { applied, stream, partition, signal } = this.#options;
    // A read needs checkpoints that may still be staged, and rows have only what the log has.
    stream.flush();
    await stream.settled();
    if (stream.fenced !== undefined) throw stream.fenced;
    await applied.wait(partition, stream.next, signal);
  }

  /** The newest checkpoint before the claim, once rows have it; they show the claim itself later. */
  async head(): Promise<HeadCheckpoint> {
    const { ports, applied, stream, partition, signal } = this.#options;
    const { workflow, head, position } = stream.confirmed;
    const since = (position - 1) as Position;
    await applied.wait(partition, (stream.next - 1) as Offset, signal);
    return this.#whileUnavailable(async () => {
      const [row] = await ports.store.checkpoints(workflow, { from: head.sequence, limit: 1, since });
      if (row === undefined || row.task === null) return { step: null, effects: [] };
      return { step: row.step, effects: await ports.store.effects(workflow, { task: row.task, since }) };
    });
  }

  /** Committed outputs of a step, once rows have everything that this holder has folded. */
  async outputs(step: string): Promise<readonly Json[]> {
    const { stream, fork } = this.#options;
    await this.settled();
    return outputsOf(this.#pageOf(), stream.confirmed.workflow, fork, step);
  }

  /** The same for the journals of checkpoints. */
  async journal(after: Sequence): Promise<readonly Journaled[]> {
    const { stream, fork } = this.#options;
    await this.settled();
    return journalOf(this.#pageOf(), stream.confirmed.workflow, fork, after);
  }

  /** The intentions of the task's calls, once rows have everything that this holder has written. */
  async recordedCalls(task: TaskId): Promise<RecordedCalls> {
    const { workflow, position } = this.#options.stream.confirmed;
    await this.settled();
    const rows = await this.#effects(workflow, { task, since: position });
    const calls = rows.flatMap(({ key, request, payload }) => {
      if (request === null) return [];
      // A person says why.
      const isDecided = 'why' in decodePayload('ApprovalDecided', payload);
      return [[key, { ...decodePayload('EffectIntended', request), isDecided }] as const];
    });
    return new Map(calls);
  }

  /** Answers the effects of a fork that replays, or of a reset, with what was kept or the undo left; undefined for any other workflow. */
  replay(content: StreamContent): Replay | undefined {
    const { fork: origin } = this.#options;
    const { fork } = this.#options.stream.confirmed;
    if (fork === undefined || origin === undefined) return undefined;
    if (fork.effects === 'live' && origin.reset === undefined) return undefined;
    return this.#replayOf(content, fork, origin);
  }

  #replayOf(content: StreamContent, fork: Fork, origin: ReplayOrigin, spent?: ReadonlySet<EffectKey>): Replay {
    const { workflow, position } = this.#options.stream.confirmed;
    const since = origin.shares[0]!.position;
    const read = (task?: TaskId) => this.#effects(fork.workflow, { since, ...(task !== undefined && { task }) });
    // What was superseded doesn't change any more.
    const known = new Map<TaskId | undefined, ReturnType<typeof read>>();
    const kept = (task?: TaskId) => {
      const found = known.get(task);
      if (found !== undefined) return found;
      const reading = read(task);
      known.set(task, reading);
      reading.catch(() => known.delete(task));
      return reading;
    };
    return new Replay(workflow, fork, origin, {
      base: fork.effects === 'replay' ? read : kept,
      own: async () => {
        await this.settled();
        return this.#effects(workflow, { since: position });
      },
      pageOf: this.#pageOf(),
      newTaskOf: (sequence) => content.taskOf(sequence),
      spent,
      left:
        fork.effects === 'live'
          ? () => this.#whileUnavailable(() => leftUndone(this.#options.ports.store, fork.workflow))
          : undefined,
      before: fork.effects === 'replay' ? undefined : () => this.#before(content, fork.workflow, origin, spent),
    });
  }

  /** Of a base that is a reset: what its own base recorded, for the tasks that it began with, and for those that they add. */
  async #before(
    content: StreamContent,
    base: WorkflowId,
    origin: ReplayOrigin,
    later: ReadonlySet<EffectKey> = new Set(),
  ): Promise<Replay | undefined> {
    const { store } = this.#options.ports;
    const row = await this.#whileUnavailable(() => store.workflow(base));
    if (row?.fork === undefined || row.fork.effects === 'replay') return undefined;
    const [opening] = await this.#pageOf()(base, { from: 0 as Sequence, limit: 1 });
    const theirs = opening && decodePayload('WorkflowOpened', opening.payload).fork;
    if (theirs?.reset === undefined) return undefined;
    const reads = { pageOf: this.#pageOf(), newTaskOf: () => undefined };
    const map = new ForkTaskMap(base, theirs, reads);
    const tasks = [];
    for (const { task } of origin.tasks) tasks.push({ task: task && (await map.taskOf(task)) });
    const isChanged = origin.isChanged || theirs.isChanged;
    const spent = (await this.#effects(base, { since: origin.shares[0]!.position })).flatMap(({ request }) => {
      const { replays, sends } = request === null ? {} : decodePayload('EffectIntended', request);
      return [replays, sends].filter((key) => key !== undefined);
    });
    return this.#replayOf(content, row.fork, { ...theirs, isChanged, tasks }, new Set([...later, ...spent]));
  }

  #effects(of: WorkflowId, options: { readonly since: Position; readonly task?: TaskId }) {
    return this.#whileUnavailable(() => this.#options.ports.store.effects(of, options));
  }

  /** Reads checkpoints of the workflow and of the workflows whose history it shares. */
  #pageOf(): PageOf {
    const { ports, stream, fork } = this.#options;
    const { workflow, position } = stream.confirmed;
    return (of, options) => {
      // Rows that existed at the wait may be gone again after a crash of the database.
      const since = of === workflow ? position : fork?.shares.find((share) => share.workflow === of)?.position;
      return this.#whileUnavailable(() =>
        ports.store.checkpoints(of, { ...options, ...(since !== undefined && { since }) }),
      );
    };
  }

  #whileUnavailable<T>(read: () => Promise<T>): Promise<T> {
    return whileUnavailable(this.#options.ports.clock, this.#options.signal, read);
  }
}
