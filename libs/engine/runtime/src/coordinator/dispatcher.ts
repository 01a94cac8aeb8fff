/**
 * Owns the hints that tell workers what to do: a job for every stream that became runnable, and a slow sweep that enqueues
 * again whatever is runnable in the rows, so that a flushed queue loses nothing. Jobs are never the truth. Of queues that are held no job
 * is sent, and all of them once they aren't any more.
 */

import type { Dispatch, Lamport, Offset, Partition, WorkflowId } from '@tidemark/core';
import type { Job, RunnableStream, StreamRow } from '@tidemark/ports';
import { PausedQueues, QueuePauses } from '../control/index.ts';
import type { Ports } from '../kernel/index.ts';
import { queuedAs } from '../lease/index.ts';
import { jobOf } from '../projection/index.ts';
import type { Demand, DemandLook } from './demand.ts';
import { REDISPATCH_DOUBTED_COUNT, REDISPATCH_PAGE_COUNT } from './limits.ts';

export interface DispatcherOptions {
  readonly ports: Pick<Ports, 'queue' | 'store' | 'clock' | 'telemetry'>;
  readonly onError: (error: unknown) => void;
  readonly held?: Pick<QueuePauses, 'known' | 'poll'> | undefined;
  /** Told of all that can run, at each sweep. */
  readonly demand?: Pick<Demand, 'beginPoll'> | undefined;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  /**
   * Runnable in the last sweep and not seen to run since: enqueued again only when they still are in the next. Undefined before the first, to
   * which all are suspects: who sent their jobs may have died, and the queue with it.
   */
  #suspects: Map<WorkflowId, Suspect> | undefined;
  /** Numbers the sweeps: whose turn is the oldest is sent first. */
  #sweepCount = 0;
  /** The newest job of each workflow that isn't sent yet: a queue that doesn't answer holds no more than that. */
  #waiting = new Map<WorkflowId, { readonly stream: StreamRow; readonly job: Job }>();
  readonly #held: Pick<QueuePauses, 'known' | 'poll'>;
  /** Held when jobs were left out that weren't sent since: none of them need be in the queue. */
  #omitted = new PausedQueues([]);
  #sending: Promise<void> | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#held = options.held ?? new QueuePauses(options.ports);
  }

  /** Enqueues what the written rows show to be runnable. Never throws: the sweep makes up for it. */
  applied(streams: readonly StreamRow[], next: ReadonlyMap<Partition, Offset>): void {
    for (const stream of streams) {
      const offset = next.get(stream.partition);
      if (!stream.runnable || offset === undefined) continue;
      this.#waiting.set(stream.workflow, { stream, job: jobOf(stream, offset, this.#options.ports.telemetry) });
    }
    if (this.#waiting.size > 0) this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    try {
      while (this.#waiting.size > 0) {
        const waiting = [...this.#waiting.values()];
        this.#waiting = new Map();
        // Who can't tell what is held sends them: whoever takes one looks as well.
        const held = await this.#held.known().catch(() => NONE_HELD);
        const jobs = waiting.filter(({ stream }) => !held.has(stream)).map(({ job }) => job);
        if (jobs.length < waiting.length) this.#omitted = held.with(this.#omitted);
        if (jobs.length > 0) await this.#options.ports.queue.enqueue(jobs).catch(this.#options.onError);
      }
    } finally {
      this.#sending = undefined;
    }
  }

  /**
   * Enqueues what was left out of queues that aren't held any more, and streams that were runnable, and unchanged, at the last sweep and
   * still are, or stand there at the first. Of a definition of which at least as many jobs wait, only some of those, in turn: that may be a backlog, which is no loss,
   * and to send ten thousand jobs again every other second would delay everybody. But it may be the jobs of others that wait, so that
   * each is sent again at some time. The queue refuses those that it has.
   */
  async sweep(): Promise<void> {
    // Before rows are complete nothing is claimed.
    if (!(await this.#options.ports.store.ready())) return;
    const held = await this.#held.poll();
    const omitted = this.#omitted;
    // At once: what is left out from here on is for the next sweep.
    this.#omitted = held;
    const poll = this.#options.demand?.beginPoll();
    try {
      await this.#sweep(held, omitted, poll);
    } catch (error) {
      this.#omitted = this.#omitted.with(omitted);
      throw error;
    } finally {
      poll?.end();
    }
  }

  async #sweep(held: PausedQueues, omitted: PausedQueues, poll: DemandLook | undefined): Promise<void> {
    const { store, queue } = this.#options.ports;
    const turn = ++this.#sweepCount;
    const seen = new Map<WorkflowId, Suspect>();
    const left: RunnableStream[] = [];
    const suspected: RunnableStream[] = [];
    const found: RunnableStream[] = [];
    for (let after: WorkflowId | null = null; ; ) {
      const page: readonly RunnableStream[] = await store.runnable(after, REDISPATCH_PAGE_COUNT, this.#suspects);
      if (poll !== undefined) found.push(...page);
      for (const stream of page) {
        const { workflow, lamport, dispatch } = stream;
        const known = this.#suspects?.get(workflow);
        const isSame = known?.lamport === lamport;
        seen.set(workflow, isSame ? known : { lamport, turn, dispatch });
        if (held.has(stream)) continue;
        if (omitted.has(stream)) left.push(stream);
        else if (isSame || this.#suspects === undefined) suspected.push(stream);
      }
      if (page.length < REDISPATCH_PAGE_COUNT) break;
      after = page.at(-1)!.workflow;
    }
    poll?.foundRunnable(found, held);
    const lost = Map.groupBy(suspected, ({ definition }) => queuedAs(definition));
    const waiting = lost.size === 0 ? new Map<string, number>() : await queue.depth([...lost.keys()]);
    await this.#enqueue(left);
    for (const { workflow, lamport, dispatch } of left) seen.set(workflow, { lamport, turn, dispatch });
    for (const [definition, streams] of lost) {
      const isDoubted = (waiting.get(definition) ?? 0) >= streams.length;
      const sent = isDoubted ? oldestOf(streams, seen) : streams;
      await this.#enqueue(sent);
      for (const { workflow, lamport, dispatch } of sent) seen.set(workflow, { lamport, turn, dispatch });
    }
    this.#suspects = seen;
  }

  async #enqueue(streams: readonly RunnableStream[]): Promise<void> {
    const { queue, telemetry } = this.#options.ports;
    for (let at = 0; at < streams.length; at += REDISPATCH_PAGE_COUNT) {
      const page = streams.slice(at, at + REDISPATCH_PAGE_COUNT);
      await queue.enqueue(page.map((stream) => jobOf(stream, stream.next, telemetry)));
    }
  }

  async stop(): Promise<void> {
    await this.#sending;
  }
}

const NONE_HELD = new PausedQueues([]);

interface Suspect {
  readonly lamport: Lamport;
  /** The sweep that saw it first as it is, or sent it last. */
  readonly turn: number;
  readonly dispatch: Dispatch | undefined;
}

/** Whose turn it is: those that waited for the most sweeps. */
function oldestOf(
  streams: readonly RunnableStream[],
  suspects: ReadonlyMap<WorkflowId, Suspect>,
): readonly RunnableStream[] {
  const turnOf = ({ workflow }: RunnableStream): number => suspects.get(workflow)!.turn;
  return streams.toSorted((a, b) => turnOf(a) - turnOf(b)).slice(0, REDISPATCH_DOUBTED_COUNT);
}
