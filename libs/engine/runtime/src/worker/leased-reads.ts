/**
 * Owns a holder's reads of its own workflow from rows (checkpoints, outputs, effects), which wait until rows have everything that the
 * holder has folded. `context-reads.ts` reads its context.
 */

import type { ForkOrigin } from '@tidemark/codec';
import { isReplay, type Json, type Partition, type Position, type TaskId, type WorkflowId } from '@tidemark/core';
import { type Applied, outputsOf, type PageOf, Replay, type StreamContent } from '../history/index.ts';
import { type Ports, whileUnavailable } from '../kernel/index.ts';
import type { LeasedStream } from '../lease/index.ts';
import type { HeadCheckpoint } from '../run/index.ts';

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

  /** The newest checkpoint, once rows have it. */
  async head(): Promise<HeadCheckpoint> {
    const { ports, applied, stream, partition, signal } = this.#options;
    const { workflow, head, position: since } = stream.confirmed;
    await applied.wait(partition, stream.next, signal);
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

  /** Answers the effects of a fork that replays; undefined for any other workflow. */
  replay(content: StreamContent): Replay | undefined {
    const { ports, fork: origin } = this.#options;
    const { confirmed } = this.#options.stream;
    const { workflow, fork, position } = confirmed;
    if (fork === undefined || origin === undefined || !isReplay(confirmed)) return undefined;
    const effects = (of: WorkflowId, options: { readonly since: Position; readonly task?: TaskId }) =>
      this.#whileUnavailable(() => ports.store.effects(of, options));
    const since = origin.shares[0]!.position;
    return new Replay(workflow, fork, origin, {
      base: (task) => effects(fork.workflow, { since, ...(task !== undefined && { task }) }),
      own: async () => {
        await this.settled();
        return effects(workflow, { since: position });
      },
      pageOf: this.#pageOf(),
      newTaskOf: (sequence) => content.taskOf(sequence),
    });
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
