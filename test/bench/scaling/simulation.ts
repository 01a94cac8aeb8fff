/**
 * Owns a discrete-event simulation of the way of a checkpoint: a worker's one thread, its lane to a broker with one request in flight that
 * takes all that waits and leaves a least time after the one before, the broker's cores, and the replicas' acknowledgement. It says what queueing makes of the costs at a utilisation;
 * it knows nothing of disks, networks that lose, or garbage collection. Held against theory in its test.
 */

import { Random } from '../../chaos/random.ts';

export interface SimulatedWay {
  /** Checkpoints that come to one worker a second, at random (Poisson). */
  readonly perWorkerPerS: number;
  /** Processor time of the worker for each, in milliseconds. */
  readonly workerMs: number;
  /** Workers whose requests come to one broker, and its cores. */
  readonly workersPerBroker: number;
  readonly brokerCores: number;
  /** Processor time of the broker for each checkpoint and for each request, in milliseconds. */
  readonly brokerMs: number;
  readonly requestMs: number;
  /** Network there and back, and until replicas have it, in milliseconds: not queued for. */
  readonly roundTripMs: number;
  /** Requests leave so far apart at least, in milliseconds. */
  readonly gatherMs: number;
  /** Share of the worker's time that goes before the append; the rest after the acknowledgement. */
  readonly beforeShare: number;
}

export interface Latencies {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly meanMs: number;
  /** Share of its time that a worker, and a core of the broker, was busy. */
  readonly workerBusy: number;
  readonly brokerBusy: number;
  /** Mean number of checkpoints in one request. */
  readonly batch: number;
}

type Action = () => void;

/** Checkpoints of the beginning that are not counted: the queues fill first. */
const WARM_UP_SHARE = 0.1;

/** Simulates so many checkpoints of one broker's workers. */
export function simulate(way: SimulatedWay, count: number, seed = 1): Latencies {
  const random = new Random(seed);
  const events = new Agenda();
  const broker = new Servers(events, way.brokerCores);
  const times: number[] = [];
  const batches: number[] = [];
  const afterMs = way.workerMs * (1 - way.beforeShare);
  let left = count;
  const workers = Array.from({ length: way.workersPerBroker }, () => {
    const thread = new Servers(events, 1);
    let waiting: number[] = [];
    let isInFlight = false;
    let sentMs = Number.NEGATIVE_INFINITY;
    const send = (): void => {
      if (isInFlight || waiting.length === 0) return;
      isInFlight = true;
      events.after(Math.max(0, sentMs + way.gatherMs - events.nowMs), leave);
    };
    const leave = (): void => {
      sentMs = events.nowMs;
      const batch = waiting;
      waiting = [];
      batches.push(batch.length);
      broker.serve(way.requestMs + batch.length * way.brokerMs, () =>
        events.after(way.roundTripMs, () => {
          isInFlight = false;
          for (const startedMs of batch) {
            const end = (): void => void times.push(events.nowMs - startedMs);
            // What has nothing left to do waits for nobody.
            if (afterMs === 0) end();
            else thread.serve(afterMs, end);
          }
          send();
        }),
      );
    };
    const arrive = (): void => {
      if (left-- <= 0) return;
      const startedMs = events.nowMs;
      thread.serve(way.workerMs * way.beforeShare, () => {
        waiting.push(startedMs);
        send();
      });
      events.after(exponential(random, 1_000 / way.perWorkerPerS), arrive);
    };
    events.after(exponential(random, 1_000 / way.perWorkerPerS), arrive);
    return thread;
  });
  events.run();
  const counted = times.slice(Math.floor(times.length * WARM_UP_SHARE)).sort((a, b) => a - b);
  const at = (q: number): number => counted[Math.min(counted.length - 1, Math.floor(counted.length * q))]!;
  const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;
  return {
    ...{ p50Ms: at(0.5), p99Ms: at(0.99), meanMs: mean(counted) },
    workerBusy: mean(workers.map(({ busyMs }) => busyMs)) / events.nowMs,
    brokerBusy: broker.busyMs / way.brokerCores / events.nowMs,
    batch: mean(batches),
  };
}

const exponential = (random: Random, mean: number): number => -Math.log(1 - random.next()) * mean;

/** Servers alike with one queue before them, first come, first served. */
class Servers {
  busyMs = 0;
  readonly #events: Agenda;
  readonly #waiting: { readonly ms: number; readonly done: Action }[] = [];
  #free: number;

  constructor(events: Agenda, count: number) {
    this.#events = events;
    this.#free = count;
  }

  serve(ms: number, done: Action): void {
    this.#waiting.push({ ms, done });
    this.#next();
  }

  #next(): void {
    if (this.#free === 0) return;
    const job = this.#waiting.shift();
    if (job === undefined) return;
    this.#free--;
    this.busyMs += job.ms;
    this.#events.after(job.ms, () => {
      this.#free++;
      job.done();
      this.#next();
    });
  }
}

/** What is to happen, by time: a binary heap. */
class Agenda {
  nowMs = 0;
  readonly #heap: { readonly atMs: number; readonly order: number; readonly action: Action }[] = [];
  #order = 0;

  after(ms: number, action: Action): void {
    const heap = this.#heap;
    heap.push({ atMs: this.nowMs + ms, order: this.#order++, action });
    for (let at = heap.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.#isBefore(at, parent)) break;
      [heap[at], heap[parent]] = [heap[parent]!, heap[at]!];
      at = parent;
    }
  }

  run(): void {
    for (let next = this.#take(); next !== undefined; next = this.#take()) {
      this.nowMs = next.atMs;
      next.action();
    }
  }

  #take() {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let least = at;
      if (left < heap.length && this.#isBefore(left, least)) least = left;
      if (right < heap.length && this.#isBefore(right, least)) least = right;
      if (least === at) return first;
      [heap[at], heap[least]] = [heap[least]!, heap[at]!];
      at = least;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [one, other] = [this.#heap[a]!, this.#heap[b]!];
    return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
  }
}
