/**
 * Owns the contracts of messages that may be lost: jobs, hints that something happened, and live messages to the watchers of a step. A job
 * is a hint that a workflow has something to do: it may be lost, repeated or delayed. Correctness must not depend on any arrival.
 */

import type { Dispatch, Lamport, Offset, Partition, TenantId, WorkflowId } from '@tidemark/core';

/** Where a job goes. A worker subscribes to the routes that it can run, and gets no other jobs. */
export interface Route {
  readonly definition: string;
  /** The version that the workflow has reached. */
  readonly version: number;
  /** The workflow runs with exactly that version. */
  readonly pinned: boolean;
  /** Only workers of this build take the job; absent: workers of any build. Without spaces. */
  readonly build?: string | undefined;
}

/** Equal for equal routes, different for different ones. */
export const routeKey = ({ definition, version, pinned, build }: Route): string =>
  `${version}${pinned ? '!' : ''}${build === undefined ? '' : `@${build}`} ${definition}`;

export interface Job extends Route {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly partition: Partition;
  /** First offset that the enqueuer has not folded. */
  readonly offset: Offset;
  /** The workflow's Lamport time; workflow and time identify the job. */
  readonly lamport: Lamport;
  /** Nothing has happened to the workflow but its opening, which rows need not show yet. */
  readonly begins?: true | undefined;
  /** Absent: the default priority, and no limits. Rates are set only until the workflow has begun. */
  readonly dispatch?: Dispatch | undefined;
  /** `traceparent` of the workflow's time in the queue, where traces are on. */
  readonly trace?: string | undefined;
}

export interface Consumer {
  /** Takes further jobs only while fewer than so many run, however many its concurrency allows; undefined: as many as that again. */
  narrow(max: number | undefined): void;
  /** Takes no further job; running ones continue. */
  pause(): Promise<void>;
  /** Takes no further job, waits for the running ones, and releases everything. */
  close(): Promise<void>;
}

export interface ConsumeOptions {
  /** Most jobs that run at once. */
  readonly concurrency: number;
  /** Only jobs of these routes. */
  readonly routes: readonly Route[];
}

/**
 * Which waiting job of a route comes next: the one of the highest priority; within a priority, tenants take turns, so that none waits for
 * another's backlog; within a tenant, the oldest. A job whose limit is reached waits aside until it isn't any more, and delays no other. A
 * consumer reserves its last slots for tenants that run less than their share there (`TenantSlots`). When jobs declare one limit
 * differently, each obeys its own declaration.
 */
export interface JobQueue {
  /** Adds jobs; a job that already waits (same workflow and Lamport time) is not added twice. Throws `UnavailableError`. */
  enqueue(jobs: readonly Job[]): Promise<void>;
  /**
   * Calls `handle` for each job. The job is removed when the promise settles, either way; until then it counts against its limits.
   * Reconnects by itself when the server is lost. Throws `UnavailableError` only when the server is unreachable at the start.
   */
  consume(options: ConsumeOptions, handle: (job: Job) => Promise<void>): Promise<Consumer>;
  /** Number of waiting jobs by definition, over all its versions; 0 for those without. For autoscaling and `doctor`. */
  depth(definitions: readonly string[]): Promise<ReadonlyMap<string, number>>;
  close(): Promise<void>;
}

/** `appended`: records were added to the log; `applied`: rows were written up to some offset. */
export type HintTopic = 'appended' | 'applied';

/** How long a hint for which nobody waits is held back, in milliseconds. */
export const HINT_LATER_MS = 25;

export interface HintBus {
  /**
   * Never throws, never waits; drops the hint when the server is unreachable. `later`: nobody waits for it, so it may come together with what
   * follows in its partition within `HINT_LATER_MS`.
   */
  publish(topic: HintTopic, partition: Partition, when?: 'later'): void;
  /** Returns a function that ends the subscription. */
  subscribe(topic: HintTopic, listener: (partitions: readonly Partition[]) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}

/**
 * Longest time that a message is kept after the newest of its workflow, in milliseconds; most bytes that are kept of one workflow; and of
 * all workflows where they are kept in the memory of a process.
 */
export const WATCH_KEPT_MS = 5 * 60_000;
export const WATCH_KEPT_MAX_BYTES = 512 * 1_024;
export const WATCH_KEPT_IN_MEMORY_MAX_BYTES = 64 * 1_024 * 1_024;

/** The lease under which a message came, and its number within it, 1, 2, 3 …: they order all messages of a workflow that are kept. */
export interface MessagePlace {
  readonly epoch: number;
  readonly number: number;
}

export const isAfter = (one: MessagePlace, other: MessagePlace): boolean =>
  one.epoch > other.epoch || (one.epoch === other.epoch && one.number > other.number);

/**
 * A message that is kept for those who come later, and its place: one that comes behind the newest is dropped. So a worker that has lost the lease changes nothing of what its next holder keeps.
 */
export interface Kept extends MessagePlace {
  /** It replaces what was kept before. */
  readonly replaces: boolean;
}

/** None: a message is for those alone who watch now. */
export type Keeping = 'none' | Kept;

export interface WatchBus {
  /** Never throws, never waits; drops the message when the server is unreachable. At most 64 KB of text. */
  publish(workflow: WorkflowId, message: string, keeping: Keeping): void;
  /**
   * Those who come later need nothing that is kept of the workflow under this lease and older ones: it goes, at once or within seconds. As
   * `publish`.
   */
  release(workflow: WorkflowId, epoch: number): void;
  /**
   * Delivers the kept messages, the oldest of which may be gone, and then what comes. The kept ones of a publisher arrive in their order;
   * others may be lost with a server. Returns a function that ends the subscription.
   */
  subscribe(workflow: WorkflowId, listener: (message: string) => void): Promise<() => Promise<void>>;
  close(): Promise<void>;
}
