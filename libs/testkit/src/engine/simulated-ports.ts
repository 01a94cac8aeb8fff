/**
 * Owns small fakes of the ports for the runtime's own tests: time that only the test moves, hints and jobs that arrive within a turn of the
 * event loop, beats that never expire by themselves. Must not be used outside tests.
 */

import type { Epoch, HolderId, Partition, WorkflowId } from '@tidemark/core';
import {
  type Announcement,
  buildsOf,
  type Clock,
  type ConsumeOptions,
  type Consumer,
  type EventLog,
  type HintBus,
  type HintTopic,
  type Job,
  type JobQueue,
  type JsonText,
  type Liveness,
  type LivenessView,
  type MetricName,
  type Prng,
  type RecordPlace,
  type ReportedLease,
  type Telemetry,
} from '@tidemark/ports';
import { createMemoryHints, createMemoryQueue } from '@tidemark/queue-memory';
import type { Ports } from '@tidemark/runtime';
import { sha256Digest } from '@tidemark/runtime';
import { loggedReads, type Reads } from '@tidemark/runtime/internals';
import { Scheduler } from '../simulation/scheduler.ts';
import { SimulatedStore } from './simulated-store.ts';

/** Turns of the event loop after which everything that waits for nothing but promises has happened. */
const QUIET_TURNS = 12;

/** Lets everything happen that needs no time. */
export async function quiet(turns = QUIET_TURNS): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

export interface ClockOptions {
  /** Shared by clocks that move together. */
  readonly time?: Scheduler;
  /** What the wall clock shows at the beginning of time, in milliseconds since the Unix epoch. */
  readonly beganAtMs?: number;
  /** When the monotonic clock began, in milliseconds of virtual time. */
  readonly bornMs?: number;
}

/** Stands still until it is moved. The wall clock and the monotonic one move together unless the test skews the first. */
export class SimulatedClock implements Clock {
  readonly #time: Scheduler;
  readonly #beganAtMs: number;
  readonly #bornMs: number;
  /** Error of the wall clock, in milliseconds. */
  skewMs = 0;

  constructor({ time = new Scheduler(), beganAtMs = 1_000_000, bornMs = 0 }: ClockOptions = {}) {
    this.#time = time;
    this.#beganAtMs = beganAtMs;
    this.#bornMs = bornMs;
  }

  nowMs(): number {
    return Math.floor(this.#beganAtMs + this.#time.nowMs + this.skewMs);
  }

  monotonicMs(): number {
    return this.#time.nowMs - this.#bornMs;
  }

  get sleeperCount(): number {
    return this.#time.waitingCount;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const event = this.#time.after(ms, () => this.deliver(wake));
      const wake = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      const abort = (): void => {
        this.#time.cancel(event);
        resolve();
      };
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Everything from outside the process enters here. */
  deliver(run: () => void): 'quiet' | undefined {
    run();
    return undefined;
  }

  /** Time passes at once, as for a process that was stopped: sleepers that were due meanwhile wake now. */
  jump(ms: number): void {
    this.#time.jump(ms);
  }

  /** Time passes, sleeper by sleeper, each with what follows from its waking. */
  async run(ms: number): Promise<void> {
    const time = this.#time;
    const untilMs = time.nowMs + ms;
    for (;;) {
      await quiet();
      const nextMs = Math.min(time.nextAtMs, untilMs);
      time.jump(nextMs - time.nowMs);
      if (nextMs >= untilMs) break;
    }
    await quiet();
  }

  /** Runs until the condition holds; returns how many milliseconds that took. Throws after `maxMs`. */
  async runUntil(condition: () => boolean, maxMs: number): Promise<number> {
    const time = this.#time;
    const startedMs = time.nowMs;
    for (;;) {
      await quiet();
      const elapsedMs = time.nowMs - startedMs;
      if (condition()) return elapsedMs;
      if (elapsedMs > maxMs) throw new Error(`not within ${maxMs} ms: ${condition.toString()}`);
      if (time.nextAtMs === Number.POSITIVE_INFINITY)
        throw new Error(`nobody sleeps, and it doesn't hold: ${condition.toString()}`);
      time.jump(time.nextAtMs - time.nowMs);
    }
  }
}

/** The same bytes in every run of a test. */
export class SimulatedPrng implements Prng {
  #state = 1;

  bytes(count: number): Uint8Array {
    return Uint8Array.from({ length: count }, () => {
      this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
      return this.#state >>> 24;
    });
  }
}

/** The bus of one process, which can be away; it knows its listeners. */
export class SimulatedHints implements HintBus {
  readonly listeners: Record<HintTopic, Set<(partitions: readonly Partition[]) => void>> = {
    appended: new Set(),
    applied: new Set(),
  };
  readonly #bus = createMemoryHints();
  /** True: hints are dropped, as while Redis is away. */
  isAway = false;

  publish(topic: HintTopic, partition: Partition): void {
    if (!this.isAway) this.#bus.publish(topic, partition);
  }

  async subscribe(
    topic: HintTopic,
    listener: (partitions: readonly Partition[]) => void,
  ): Promise<() => Promise<void>> {
    const end = await this.#bus.subscribe(topic, listener);
    this.listeners[topic].add(listener);
    return async () => {
      this.listeners[topic].delete(listener);
      await end();
    };
  }

  close(): Promise<void> {
    return this.#bus.close();
  }
}

/** The queue of one process, which can refuse jobs; it knows those that it was given and those under way. */
export class SimulatedQueue implements JobQueue {
  readonly enqueued: Job[] = [];
  readonly #queue = createMemoryQueue();
  /** Thrown by `enqueue`. */
  failure: Error | undefined;
  /** Jobs whose handler hasn't ended. */
  underWayCount = 0;

  async enqueue(jobs: readonly Job[]): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    this.enqueued.push(...jobs);
    await this.#queue.enqueue(jobs);
  }

  consume(options: ConsumeOptions, handle: (job: Job) => Promise<void>): Promise<Consumer> {
    return this.#queue.consume(options, async (job) => {
      this.underWayCount++;
      await handle(job).finally(() => this.underWayCount--);
    });
  }

  depth(definitions: readonly string[]): Promise<ReadonlyMap<string, number>> {
    return this.#queue.depth(definitions);
  }

  close(): Promise<void> {
    return this.#queue.close();
  }
}

export class SimulatedLiveness implements Liveness {
  readonly holders = new Map<HolderId, ReadonlyMap<WorkflowId, Epoch>>();
  readonly announced = new Map<HolderId, Announcement>();
  readonly sharers = new Map<HolderId, (max: number) => void>();
  readonly watchers = new Set<(holder: HolderId) => void>();
  /** Holders that don't live, and of which that is all that is known. */
  readonly silent = new Set<HolderId>();
  isTrusted = true;
  onView: (() => void) | undefined;

  async beat(
    holder: HolderId,
    leases: readonly ReportedLease[],
    _ttlMs?: number,
    _stallMs?: number,
    announced?: Announcement,
    onShare?: (max: number) => void,
  ): Promise<boolean> {
    if (announced === undefined) this.announced.delete(holder);
    else this.announced.set(holder, announced);
    if (onShare !== undefined) this.sharers.set(holder, onShare);
    this.holders.set(holder, new Map(leases.map(({ workflow, epoch }) => [workflow, epoch])));
    return true;
  }

  share(holder: HolderId, max: number): void {
    this.sharers.get(holder)?.(max);
  }

  async leave(holder: HolderId): Promise<void> {
    this.sharers.delete(holder);
    this.holders.delete(holder);
    this.announced.delete(holder);
  }

  async vanish(holder: HolderId): Promise<void> {
    this.sharers.delete(holder);
    this.announced.delete(holder);
    if (!this.holders.delete(holder)) return;
    for (const report of this.watchers) report(holder);
  }

  async watch(onGone: (holder: HolderId) => void): Promise<() => Promise<void>> {
    const report = (holder: HolderId): void => onGone(holder);
    this.watchers.add(report);
    return async () => {
      this.watchers.delete(report);
    };
  }

  async view(): Promise<LivenessView> {
    this.onView?.();
    const living = new Map(this.holders);
    return {
      trusted: this.isTrusted,
      holders: living,
      announced: new Map(this.announced),
      builds: buildsOf(this.announced.values()),
      isGone: (holder) => !living.has(holder) && !this.silent.has(holder),
    };
  }

  async close(): Promise<void> {}
}

/** Records counted metrics. */
export class SimulatedTelemetry implements Telemetry {
  readonly counts = new Map<string, number>();

  count(name: MetricName, value: number): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + value);
  }

  observe(): void {}
  gauge(): void {}
}

export interface SimulatedPorts extends Ports {
  readonly store: LoggedStore;
  readonly queue: SimulatedQueue;
  readonly hints: SimulatedHints;
  readonly liveness: SimulatedLiveness;
  readonly telemetry: SimulatedTelemetry;
  readonly clock: SimulatedClock;
}

/** A store whose reads include the content of records. */
export type LoggedStore = Omit<SimulatedStore, keyof Reads<JsonText>> & Reads<JsonText>;

/** The same store. */
export function logged(store: SimulatedStore, history: Pick<EventLog, 'read'>): LoggedStore {
  const below: Reads<RecordPlace> = {
    loadStreams: store.loadStreams.bind(store),
    checkpoints: store.checkpoints.bind(store),
    effects: store.effects.bind(store),
    effectPage: store.effectPage.bind(store),
    events: store.events.bind(store),
  };
  return Object.assign<Omit<SimulatedStore, keyof Reads<JsonText>>, Reads<JsonText>>(
    store,
    loggedReads(below, history),
  );
}

/** All ports on one clock; the log is the test's, since its faults are. `history`: where rows find the content of records. */
export const simulatedPorts = (
  log: EventLog,
  partitionCount = 1,
  history: Pick<EventLog, 'read'> = log,
): SimulatedPorts => {
  const clock = new SimulatedClock();
  const store = new SimulatedStore(partitionCount);
  store.clock = () => clock.nowMs();
  return {
    log,
    store: logged(store, history),
    queue: new SimulatedQueue(),
    hints: new SimulatedHints(),
    liveness: new SimulatedLiveness(),
    telemetry: new SimulatedTelemetry(),
    clock,
    prng: new SimulatedPrng(),
    digest: sha256Digest,
  };
};
