/**
 * Owns the simulated Redis: jobs, hints and beats, all of which may be lost, repeated, late or flushed. Correctness must not rest on
 * anything here. redis-views.ts has views of it.
 */

import type { Epoch, HolderId, Partition, WorkflowId } from '@tidemark/core';
import { type Announcement, type HintTopic, type Job, type LivenessView, routeKey } from '@tidemark/ports';
import type { Network } from './network.ts';
import type { SimulatedProcess } from './process.ts';
import type { SeededRandom } from './random.ts';
import type { Scheduler } from './scheduler.ts';

export interface JobConsumer {
  readonly process: SimulatedProcess;
  readonly routes: ReadonlySet<string>;
  concurrency: number;
  readonly handle: (job: Job) => Promise<void>;
  underWayCount: number;
}

export interface HintListener {
  readonly process: SimulatedProcess;
  readonly topic: HintTopic;
  readonly report: (partitions: readonly Partition[]) => void;
}

interface Beat {
  readonly untilMs: number;
  readonly leases: ReadonlyMap<WorkflowId, Epoch>;
  readonly announced: Announcement | undefined;
}

/** How unreliable messages are: shares of those lost, repeated and late. */
export interface Unreliability {
  lost: number;
  repeated: number;
  late: number;
}

/** A late message comes after at most so many milliseconds. */
const LATE_MAX_MS = 3_000;
const MARKER_TTL_MS = 10_000;

export class SimulatedRedis {
  readonly #scheduler: Scheduler;
  readonly #network: Network;
  readonly #random: SeededRandom;
  readonly unreliability: Unreliability = { lost: 0, repeated: 0, late: 0 };
  #waiting: Job[] = [];
  #consumers: JobConsumer[] = [];
  #turn = 0;
  readonly listeners = new Set<HintListener>();
  /** Who receives what coordinators ask of a holder. */
  readonly sharers = new Map<HolderId, { readonly process: SimulatedProcess; onShare(max: number): void }>();
  #beats = new Map<HolderId, Beat>();
  #marker: { readonly name: number; readonly untilMs: number } | undefined;
  #markerCount = 0;

  constructor(scheduler: Scheduler, network: Network, random: SeededRandom) {
    this.#scheduler = scheduler;
    this.#network = network;
    this.#random = random;
  }

  /** Its content is lost; connections stay. */
  flush(): void {
    this.#waiting = [];
    this.#beats.clear();
    this.#marker = undefined;
  }

  /** A dead process holds no connection any more. */
  disconnect(process: SimulatedProcess): void {
    this.#consumers = this.#consumers.filter((consumer) => consumer.process !== process);
    for (const listener of this.listeners) if (listener.process === process) this.listeners.delete(listener);
  }

  // --- Jobs -----------------------------------------------------------------------------------------------------------

  enqueue(jobs: readonly Job[]): void {
    for (const job of jobs) {
      if (this.#waiting.some((other) => other.workflow === job.workflow && other.lamport === job.lamport)) continue;
      for (let copies = this.#copies(); copies > 0; copies--) this.#waiting.push(job);
    }
    this.#serve();
  }

  consume(consumer: JobConsumer): void {
    this.#consumers.push(consumer);
    this.#serve();
  }

  narrow(consumer: JobConsumer, concurrency: number): void {
    consumer.concurrency = concurrency;
    this.#serve();
  }

  forget(consumer: JobConsumer): void {
    this.#consumers = this.#consumers.filter((other) => other !== consumer);
  }

  depth(definition: string): number {
    return this.#waiting.filter((job) => job.definition === definition).length;
  }

  #serve(): void {
    for (const job of this.#waiting.splice(0)) {
      const takers = this.#consumers.filter(
        ({ routes, underWayCount, concurrency }) => routes.has(routeKey(job)) && underWayCount < concurrency,
      );
      if (takers.length === 0) this.#waiting.push(job);
      else this.#hand(job, takers[this.#turn++ % takers.length]!);
    }
  }

  #hand(job: Job, consumer: JobConsumer): void {
    consumer.underWayCount++;
    const done = (): void => {
      consumer.underWayCount--;
      this.#serve();
    };
    this.#send(consumer.process, () => void consumer.handle(job).then(done, done), done);
  }

  // --- Hints ----------------------------------------------------------------------------------------------------------

  publish(topic: HintTopic, partition: Partition): void {
    for (const listener of this.listeners) {
      if (listener.topic !== topic) continue;
      for (let copies = this.#copies(); copies > 0; copies--) {
        this.#send(listener.process, () => listener.report([partition]));
      }
    }
  }

  #copies(): number {
    const { lost, repeated } = this.unreliability;
    const draw = this.#random.unit();
    return draw < lost ? 0 : draw < lost + repeated ? 2 : 1;
  }

  /** A process that is not connected now receives nothing. */
  #send(process: SimulatedProcess, arrive: () => void, lost: () => void = () => {}): void {
    const lateMs = this.#random.chance(this.unreliability.late) ? this.#random.between(0, LATE_MAX_MS) : 0;
    this.#scheduler.after(this.#network.tripMs('redis') + lateMs, () => {
      if (!this.#network.isCut(process, 'redis')) return process.deliver(arrive);
      lost();
      return 'quiet';
    });
  }

  // --- Beats ----------------------------------------------------------------------------------------------------------

  beat(
    holder: HolderId,
    leases: ReadonlyMap<WorkflowId, Epoch>,
    ttlMs: number,
    announced: Announcement | undefined,
  ): void {
    this.#beats.set(holder, { untilMs: this.#scheduler.nowMs + ttlMs, leases, announced });
  }

  share(holder: HolderId, max: number): void {
    const sharer = this.sharers.get(holder);
    if (sharer !== undefined) this.#send(sharer.process, () => sharer.onShare(max));
  }

  leave(holder: HolderId): void {
    this.#beats.delete(holder);
  }

  /** The current marker, which this keeps, and all beats that count. */
  view(): { readonly marker: number } & Pick<LivenessView, 'holders' | 'announced'> {
    const { nowMs } = this.#scheduler;
    const isKept = this.#marker !== undefined && this.#marker.untilMs > nowMs;
    const name = isKept ? this.#marker!.name : ++this.#markerCount;
    this.#marker = { name, untilMs: nowMs + MARKER_TTL_MS };
    for (const [holder, { untilMs }] of this.#beats) if (untilMs <= nowMs) this.#beats.delete(holder);
    const announced = new Map<HolderId, Announcement>();
    for (const [holder, beat] of this.#beats) if (beat.announced !== undefined) announced.set(holder, beat.announced);
    const holders = new Map([...this.#beats].map(([holder, { leases }]) => [holder, leases]));
    return { marker: name, holders, announced };
  }
}
