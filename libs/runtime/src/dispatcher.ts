/**
 * Owns the hints that tell workers what to do: a job for every stream that became runnable, and a slow sweep that enqueues
 * again whatever is runnable in the rows, so that a flushed queue loses nothing. Jobs are never the truth. Of queues that are held no job
 * is sent, and all of them once they aren't any more.
 */

import type { Dispatch, Epoch, Lamport, Offset, Partition, WorkflowId } from '@tidemark/core';
import type { Job, RunnableStream, StreamRow, Telemetry } from '@tidemark/ports';
import { queuedAs } from './compensation.ts';
import { HeldQueues, HeldSet } from './held-queues.ts';
import { REDISPATCH_PAGE_COUNT } from './limits.ts';
import type { Ports } from './ports.ts';
import { queueSpan, traceParentOf } from './trace-ids.ts';

export interface DispatcherOptions {
  readonly ports: Pick<Ports, 'queue' | 'store' | 'clock' | 'telemetry'>;
  readonly onError: (error: unknown) => void;
  readonly held?: Pick<HeldQueues, 'known' | 'look'> | undefined;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  /** Runnable in the last sweep and not seen to run since: enqueued again only when they still are in the next. */
  #suspects = new Map<WorkflowId, Lamport>();
  /** The newest job of each workflow that isn't sent yet: a queue that doesn't answer holds no more than that. */
  #waiting = new Map<WorkflowId, { readonly stream: StreamRow; readonly job: Job }>();
  readonly #held: Pick<HeldQueues, 'known' | 'look'>;
  /** Held when jobs were last left out: none of them is in the queue. */
  #leftOut = new HeldSet([]);
  #sending: Promise<void> | undefined;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#held = options.held ?? new HeldQueues(options.ports);
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
        if (jobs.length < waiting.length) this.#leftOut = held.with(this.#leftOut);
        if (jobs.length > 0) await this.#options.ports.queue.enqueue(jobs).catch(this.#options.onError);
      }
    } finally {
      this.#sending = undefined;
    }
  }

  /**
   * Enqueues every stream that was runnable, and unchanged, at the last sweep and still is; of a definition of which as many jobs wait, none:
   * a backlog is no loss, and to send ten thousand jobs again every other second would delay everybody.
   */
  async sweep(): Promise<void> {
    const { store, queue, telemetry } = this.#options.ports;
    const seen = new Map<WorkflowId, Lamport>();
    const suspected: Job[] = [];
    // Before rows are complete nothing is claimed.
    if (!(await store.ready())) return;
    const held = await this.#held.look();
    const leftOut = this.#leftOut;
    this.#leftOut = held;
    let after: WorkflowId | null = null;
    for (;;) {
      const page = await store.runnable(after, REDISPATCH_PAGE_COUNT);
      for (const stream of page) {
        seen.set(stream.workflow, stream.lamport);
        if (held.has(stream)) continue;
        const isLeft = leftOut.has(stream) || this.#suspects.get(stream.workflow) === stream.lamport;
        if (isLeft) suspected.push(jobOf(stream, stream.next, telemetry));
      }
      if (page.length < REDISPATCH_PAGE_COUNT) break;
      after = page.at(-1)!.workflow;
    }
    const byDefinition = Map.groupBy(suspected, ({ definition }) => definition);
    const waiting = byDefinition.size === 0 ? new Map<string, number>() : await queue.depth([...byDefinition.keys()]);
    for (const [definition, jobs] of byDefinition) {
      if ((waiting.get(definition) ?? 0) >= jobs.length) continue;
      for (let at = 0; at < jobs.length; at += REDISPATCH_PAGE_COUNT) {
        await queue.enqueue(jobs.slice(at, at + REDISPATCH_PAGE_COUNT));
      }
    }
    this.#suspects = seen;
  }

  async stop(): Promise<void> {
    await this.#sending;
  }
}

const NONE_HELD = new HeldSet([]);

/** The hint at a stream that is runnable once the log is folded up to this offset. Its context is the queue span that the next claim ends. */
export function jobOf(
  stream: Omit<RunnableStream, 'next'>,
  offset: Offset,
  { traceRatio }: Pick<Telemetry, 'traceRatio'>,
): Job {
  const { workflow, tenant, definition, version, pinned, partition, lamport } = stream;
  const dispatch = dispatchOf(stream);
  return {
    ...{ workflow, tenant, definition: queuedAs(definition), version, pinned, partition, offset, lamport },
    ...(dispatch !== undefined && { dispatch }),
    ...(traceRatio !== undefined && {
      trace: traceParentOf(workflow, queueSpan(workflow, (stream.epoch + 1) as Epoch), traceRatio),
    }),
  };
}

/** What was begun before counts against no rate again. */
function dispatchOf({ dispatch, epoch }: Pick<RunnableStream, 'dispatch' | 'epoch'>): Dispatch | undefined {
  if (dispatch?.limits === undefined || epoch === 0) return dispatch;
  const limits = dispatch.limits.flatMap(({ rate: _, ...limit }) => (limit.concurrency === undefined ? [] : [limit]));
  return { ...dispatch, limits };
}
