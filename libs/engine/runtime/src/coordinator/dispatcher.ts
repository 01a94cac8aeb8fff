/**
 * Owns the hints that tell workers what to do: a job for every stream that becomes runnable, and a slow sweep that enqueues what is
 * runnable in the rows again, so that a flushed queue loses nothing. Jobs are only hints. It sends no jobs for paused queues, and sends all
 * of them once the queues are resumed.
 */

import type { Dispatch, EventType, Lamport, Offset, Partition, WorkflowId } from '@tidemark/core';
import type { EventRow, Job, RunnableStream, StreamRow } from '@tidemark/ports';
import { PausedQueues, QueuePauses } from '../control/index.ts';
import type { Ports } from '../kernel/index.ts';
import { queuedAs } from '../lease/index.ts';
import { beginsAtOnce, isWokenByWriter, jobOf } from '../projection/index.ts';
import type { Demand, DemandPoll } from './demand.ts';
import { REDISPATCH_PAGE_COUNT } from './limits.ts';
import type { StuckGauges } from './stuck.ts';

/** Most workflows of one definition that one sweep sends again while as many jobs wait as could be lost. */
export const REDISPATCH_DOUBTED_COUNT = 500;

/** Position of a stream of which nothing is known but its opening. */
const OPENED_POSITION = 1;

type Happened = Pick<EventRow, 'workflow' | 'position' | 'type'>;

/** Whether whoever wrote a stream's newest event has sent its job, or will. */
const isSent = (stream: StreamRow, newest: Happened | undefined): boolean =>
  stream.position === OPENED_POSITION
    ? beginsAtOnce(stream)
    : newest?.position === stream.position && isWokenByWriter(newest.type as EventType);

export interface DispatcherOptions {
  readonly ports: Pick<Ports, 'queue' | 'store' | 'clock' | 'telemetry'>;
  readonly onError: (error: unknown) => void;
  readonly pauses?: Pick<QueuePauses, 'known' | 'poll'> | undefined;
  /** Receives everything runnable, at each sweep. */
  readonly demand?: Pick<Demand, 'beginPoll'> | undefined;
  /** The same, at each sweep that demand receives. */
  readonly stuck?: Pick<StuckGauges, 'found'> | undefined;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  /**
   * Workflows that were runnable in the last sweep and have not been seen to run since: they are enqueued again only if the next sweep
   * finds them unchanged. Undefined before the first sweep, for which all are suspects: the process that sent their jobs may have died, and
   * the queue with it.
   */
  #suspects: Map<WorkflowId, Suspect> | undefined;
  /** Numbers the sweeps: the suspect with the oldest number is sent first. */
  #sweepCount = 0;
  /** The newest unsent job of each workflow, so that the backlog stays bounded while the queue does not answer. */
  #waiting = new Map<WorkflowId, { readonly stream: StreamRow; readonly job: Job; readonly isSent: boolean }>();
  readonly #pauses: Pick<QueuePauses, 'known' | 'poll'>;
  /** Queues that were paused when jobs were skipped and have not been sent since: their jobs need not be in the queue. */
  #omitted = new PausedQueues([]);
  #sending: Promise<void> | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#pauses = options.pauses ?? new QueuePauses(options.ports);
  }

  /** Enqueues what the written rows show to be runnable. Never throws: the sweep repairs failures. */
  applied(streams: readonly StreamRow[], next: ReadonlyMap<Partition, Offset>, events: readonly Happened[] = []): void {
    // Events of a workflow are in order.
    const newest = new Map(events.map((event) => [event.workflow, event]));
    for (const stream of streams) {
      const offset = next.get(stream.partition);
      if (!stream.runnable || offset === undefined) continue;
      const job = jobOf(stream, offset, this.#options.ports.telemetry);
      this.#waiting.set(stream.workflow, { stream, job, isSent: isSent(stream, newest.get(stream.workflow)) });
    }
    if (this.#waiting.size > 0) this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    try {
      while (this.#waiting.size > 0) {
        const waiting = [...this.#waiting.values()];
        this.#waiting = new Map();
        // When the paused queues are unknown the jobs are sent: the worker that takes one checks as well.
        const held = await this.#pauses.known().catch(() => NONE_HELD);
        const free = waiting.filter(({ stream }) => !held.has(stream));
        if (free.length < waiting.length) this.#omitted = held.with(this.#omitted);
        // Who opened a workflow has sent its first job (see Starter), and who woke it the next one (see WorkflowInbox).
        const jobs = free.filter((each) => !each.isSent).map(({ job }) => job);
        if (jobs.length > 0) await this.#options.ports.queue.enqueue(jobs).catch(this.#options.onError);
      }
    } finally {
      this.#sending = undefined;
    }
  }

  /**
   * Enqueues jobs that were skipped for queues which are no longer paused, and streams that were runnable at the last sweep and still are,
   * unchanged (at the first sweep: all of them). If a definition has at least as many waiting jobs as such streams, those jobs may just be
   * a backlog, and to send ten thousand jobs again every other second would delay everybody. So only some of its streams are sent, in turn;
   * each is sent sooner or later, because the waiting jobs may be those of others. The queue refuses jobs that it already has.
   */
  async sweep(): Promise<void> {
    // Nothing is claimed before rows are complete.
    if (!(await this.#options.ports.store.ready())) return;
    const held = await this.#pauses.poll();
    const omitted = this.#omitted;
    // Set at once: jobs that are skipped from here on belong to the next sweep.
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

  async #sweep(held: PausedQueues, omitted: PausedQueues, poll: DemandPoll | undefined): Promise<void> {
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
    if (poll !== undefined) this.#options.stuck?.found(found, held);
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
  /** The sweep that first saw it in this state, or that last sent it. */
  readonly turn: number;
  readonly dispatch: Dispatch | undefined;
}

/** The streams that waited for the most sweeps. */
function oldestOf(
  streams: readonly RunnableStream[],
  suspects: ReadonlyMap<WorkflowId, Suspect>,
): readonly RunnableStream[] {
  const turnOf = ({ workflow }: RunnableStream): number => suspects.get(workflow)!.turn;
  return streams.toSorted((a, b) => turnOf(a) - turnOf(b)).slice(0, REDISPATCH_DOUBTED_COUNT);
}
