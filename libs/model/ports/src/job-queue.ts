/**
 * Owns the contracts of what may be lost: jobs, hints that something happened, and what those who watch a step are told. A job is a hint
 * that a workflow has something to do: safe to lose, to repeat and to delay. Nothing may depend on an arrival for correctness.
 */

import type { Dispatch, Lamport, Offset, Partition, TenantId, WorkflowId } from '@tidemark/core';

/** Where a job goes: workers announce the routes of what they can run, and get nothing else. */
export interface Route {
  readonly definition: string;
  /** The version that the workflow has reached. */
  readonly version: number;
  /** It runs with exactly that version. */
  readonly pinned: boolean;
  /** Only workers of this build take it; absent: those of any. Without spaces. */
  readonly build?: string | undefined;
}

/** The same for the same route, and for no other. */
export const routeKey = ({ definition, version, pinned, build }: Route): string =>
  `${version}${pinned ? '!' : ''}${build === undefined ? '' : `@${build}`} ${definition}`;

export interface Job extends Route {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly partition: Partition;
  /** First offset not yet folded by the one who enqueued. */
  readonly offset: Offset;
  /** The workflow's own time; with the workflow it is the job's identity. */
  readonly lamport: Lamport;
  /** Absent: the default priority, and no limits. Rates are those that its beginning counts against. */
  readonly dispatch?: Dispatch | undefined;
  /** `traceparent` of the workflow's time in the queue, where traces are on. */
  readonly trace?: string | undefined;
}

export interface Consumer {
  /** Takes no further job; those under way go on. */
  pause(): Promise<void>;
  /** Takes no further job, waits for those under way, lets go of everything. */
  close(): Promise<void>;
}

export interface ConsumeOptions {
  /** Jobs under way at once, at most. */
  readonly concurrency: number;
  /** Only jobs of these routes. */
  readonly routes: readonly Route[];
}

/**
 * Which of the waiting jobs of a route is next: the one of the highest priority; of one priority, tenants in turn, so that none waits
 * for another's backlog; of one tenant, the one that came first. One whose limit is reached waits aside until it isn't any more, and
 * keeps nobody waiting. A consumer's last slots are kept for tenants that run less than their share there (`TenantSlots`). A limit that several jobs state differently is for each of them as that one states it.
 */
export interface JobQueue {
  /** Adds jobs; one that is already waiting (same workflow and Lamport time) is not added twice. Throws `UnavailableError`. */
  enqueue(jobs: readonly Job[]): Promise<void>;
  /**
   * Calls `handle` for each job. The job is gone when the promise settles, whichever way; until then it counts against its limits. Survives the loss of the
   * server: reconnects by itself. Throws `UnavailableError` only when the server can't be reached at all at the start.
   */
  consume(options: ConsumeOptions, handle: (job: Job) => Promise<void>): Promise<Consumer>;
  /** Jobs waiting, by definition, of all its versions; 0 for those without. For autoscaling and `doctor`. */
  depth(definitions: readonly string[]): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

/** `appended`: records were added to the log; `applied`: rows were written up to some offset. */
export type HintTopic = 'appended' | 'applied';

export interface HintBus {
  /** Never throws, never waits; drops the hint when the server is away. */
  publish(topic: HintTopic, partition: Partition): void;
  /** Returns what ends the subscription. */
  subscribe(topic: HintTopic, listener: (partitions: readonly Partition[]) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

export interface WatchBus {
  /** Never throws, never waits; drops the message when nobody watches, or the server is away. At most 64 KB of text. */
  publish(workflow: WorkflowId, message: string): void;
  /** Messages of one publisher come in order. Returns what ends the subscription. */
  subscribe(workflow: WorkflowId, listener: (message: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}
