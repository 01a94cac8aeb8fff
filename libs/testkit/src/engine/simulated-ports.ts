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
  routeKey,
  type Telemetry,
} from '@tidemark/ports';
import type { Ports } from '@tidemark/runtime';
import { sha256Digest } from '@tidemark/runtime';
import { loggedReads, type Reads } from '@tidemark/runtime/internals';
import { SimulatedStore } from './simulated-store.ts';

/** Turns of the event loop after which everything that waits for nothing but promises has happened. */
const QUIET_TURNS = 12;

/** Lets everything happen that needs no time. */
export async function quiet(turns = QUIET_TURNS): Promise<void> {
  for (let turn = 0; turn < turns; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
}

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** Stands still until it is moved. The two clocks move together unless the test skews one. */
export class SimulatedClock implements Clock {
  #wallMs = 1_000_000;
  #monotonicMs = 0;
  readonly #sleepers = new Set<Sleeper>();

  nowMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  get sleeperCount(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true || ms <= 0) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper: Sleeper = { untilMs: this.#monotonicMs + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** Time passes at once, as for a process that was stopped: sleepers that were due meanwhile wake now. */
  jump(ms: number): void {
    this.#wallMs += ms;
    this.#monotonicMs += ms;
    for (const sleeper of [...this.#sleepers].sort((a, b) => a.untilMs - b.untilMs)) {
      if (sleeper.untilMs <= this.#monotonicMs) sleeper.wake();
    }
  }

  /** Time passes, sleeper by sleeper, each with what follows from its waking. */
  async run(ms: number): Promise<void> {
    const untilMs = this.#monotonicMs + ms;
    for (;;) {
      await quiet();
      const nextMs = Math.min(...[...this.#sleepers].map((sleeper) => sleeper.untilMs), untilMs);
      this.jump(nextMs - this.#monotonicMs);
      if (nextMs >= untilMs) break;
    }
    await quiet();
  }

  /** Runs until the condition holds; returns how many milliseconds that took. Throws after `maxMs`. */
  async runUntil(condition: () => boolean, maxMs: number): Promise<number> {
    const startedMs = this.#monotonicMs;
    for (;;) {
      await quiet();
      const elapsedMs = this.#monotonicMs - startedMs;
      if (condition()) return elapsedMs;
      if (elapsedMs > maxMs) throw new Error(`not within ${maxMs} ms: ${condition.toString()}`);
      const nextMs = Math.min(...[...this.#sleepers].map((sleeper) => sleeper.untilMs));
      if (nextMs === Number.POSITIVE_INFINITY)
        throw new Error(`nobody sleeps, and it doesn't hold: ${condition.toString()}`);
      this.jump(nextMs - this.#monotonicMs);
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

export class SimulatedHints implements HintBus {
  readonly listeners: Record<HintTopic, Set<(partitions: readonly Partition[]) => void>> = {
    appended: new Set(),
    applied: new Set(),
  };
  /** True: hints are dropped, as while Redis is away. */
  isAway = false;

  publish(topic: HintTopic, partition: Partition): void {
    if (this.isAway) return;
    setImmediate(() => {
      for (const listener of [...this.listeners[topic]]) listener([partition]);
    });
  }

  async subscribe(
    topic: HintTopic,
    listener: (partitions: readonly Partition[]) => void,
  ): Promise<() => Promise<void>> {
    this.listeners[topic].add(listener);
    return async () => {
      this.listeners[topic].delete(listener);
    };
  }

  async close(): Promise<void> {}
}

/** Hands the jobs of a definition to its consumers in turn; keeps jobs without a consumer. */
export class SimulatedQueue implements JobQueue {
  readonly enqueued: Job[] = [];
  #waiting: Job[] = [];
  #consumers: { readonly routes: ReadonlySet<string>; readonly handle: (job: Job) => Promise<void> }[] = [];
  #under = new Set<Promise<void>>();
  #turn = 0;
  /** Thrown by `enqueue`. */
  failure: Error | undefined;

  async enqueue(jobs: readonly Job[]): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    this.enqueued.push(...jobs);
    this.#waiting.push(...jobs);
    this.#serve();
  }

  async consume({ routes }: ConsumeOptions, handle: (job: Job) => Promise<void>): Promise<Consumer> {
    const own = { routes: new Set(routes.map(routeKey)), handle };
    this.#consumers.push(own);
    this.#serve();
    const pause = async (): Promise<void> => {
      this.#consumers = this.#consumers.filter((other) => other !== own);
    };
    return {
      pause,
      close: async () => {
        await pause();
        await Promise.all(this.#under);
      },
    };
  }

  #serve(): void {
    for (const job of this.#waiting.splice(0)) {
      const takers = this.#consumers.filter(({ routes }) => routes.has(routeKey(job)));
      if (takers.length === 0) {
        this.#waiting.push(job);
        continue;
      }
      const { handle } = takers[this.#turn++ % takers.length]!;
      const handled = Promise.resolve()
        .then(() => handle(job))
        .finally(() => this.#under.delete(handled));
      this.#under.add(handled);
    }
  }

  /** Jobs whose handler hasn't ended. */
  get underWayCount(): number {
    return this.#under.size;
  }

  async depth(): Promise<ReadonlyMap<string, number>> {
    return new Map();
  }

  async close(): Promise<void> {}
}

export class SimulatedLiveness implements Liveness {
  readonly holders = new Map<HolderId, ReadonlyMap<WorkflowId, Epoch>>();
  readonly announced = new Map<HolderId, Announcement>();
  readonly watchers = new Set<(holder: HolderId) => void>();
  isTrusted = true;
  onView: (() => void) | undefined;

  async beat(
    holder: HolderId,
    leases: readonly ReportedLease[],
    _ttlMs?: number,
    _stallMs?: number,
    announced?: Announcement,
  ): Promise<boolean> {
    if (announced !== undefined) this.announced.set(holder, announced);
    this.holders.set(holder, new Map(leases.map(({ workflow, epoch }) => [workflow, epoch])));
    return true;
  }

  async leave(holder: HolderId): Promise<void> {
    this.holders.delete(holder);
    this.announced.delete(holder);
  }

  async vanish(holder: HolderId): Promise<void> {
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
    return { trusted: this.isTrusted, holders: new Map(this.holders), builds: buildsOf(this.announced.values()) };
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
): SimulatedPorts => ({
  log,
  store: logged(new SimulatedStore(partitionCount), history),
  queue: new SimulatedQueue(),
  hints: new SimulatedHints(),
  liveness: new SimulatedLiveness(),
  telemetry: new SimulatedTelemetry(),
  clock: new SimulatedClock(),
  prng: new SimulatedPrng(),
  digest: sha256Digest,
});
