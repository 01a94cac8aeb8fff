/**
 * Owns virtual time: events by their moment, those of one moment in the order in which they came, or in one drawn from a seed. When it
 * runs, every promise that can settle has settled between two events that run a process's code. Must not know what events mean.
 */

import type { SeededRandom } from './random.ts';

export interface Event {
  readonly atMs: number;
  readonly tie: number;
  /** Returns `quiet` when it touched nothing that waits on a promise: the next event may follow at once. */
  run: (() => unknown) | undefined;
}

/** A run has some thousand events; more than this are an endless loop. */
const EVENTS_MAX = 200_000;

export class Scheduler {
  readonly #tie: () => number;
  /** A binary heap, the earliest first. */
  readonly #heap: Event[] = [];
  #nowMs = 0;
  eventCount = 0;

  constructor(random?: SeededRandom) {
    let count = 0;
    this.#tie = random === undefined ? () => count++ : () => random.unit();
  }

  /** Virtual milliseconds since the beginning. */
  get nowMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, run: () => unknown): Event {
    const event: Event = { atMs: this.#nowMs + Math.max(delayMs, 0), tie: this.#tie(), run };
    this.#push(event);
    return event;
  }

  /** When the next event comes; infinite when there is none. */
  get nextAtMs(): number {
    while (this.#heap[0]?.run === undefined && this.#heap.length > 0) this.#pop();
    return this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY;
  }

  get waitingCount(): number {
    return this.#heap.filter(({ run }) => run !== undefined).length;
  }

  /** Time passes at once, as for a process that was stopped: events that were due meanwhile come now. */
  jump(ms: number): void {
    this.#nowMs += ms;
    while (this.nextAtMs <= this.#nowMs) this.#pop()!.run!();
  }

  /** The event stays in the heap and does nothing. */
  cancel(event: Event): void {
    event.run = undefined;
  }

  /** Runs until the condition holds (true) or time has come to `untilMs` (false). */
  async run(isDone: () => boolean, untilMs: number): Promise<boolean> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    return new Promise((resolve, reject) => {
      const turn = (): void => {
        try {
          const ended = this.#turn(isDone, untilMs);
          if (ended === undefined) setImmediate(turn);
          else resolve(ended);
        } catch (error) {
          reject(error);
        }
      };
      turn();
    });
  }

  /** Runs events up to one that touched a process; the answer of `run` once that is known. */
  #turn(isDone: () => boolean, untilMs: number): boolean | undefined {
    for (;;) {
      if (isDone()) return true;
      if ((this.#heap[0]?.atMs ?? Number.POSITIVE_INFINITY) > untilMs) {
        this.#nowMs = untilMs;
        return false;
      }
      if (!this.#step()) return undefined;
    }
  }

  /** Runs the earliest event; true: another may follow at once. */
  #step(): boolean {
    const event = this.#pop()!;
    if (event.run === undefined) return true;
    if (++this.eventCount > EVENTS_MAX) throw new Error(`progress: more than ${EVENTS_MAX} events`);
    this.#nowMs = event.atMs;
    return event.run() === 'quiet';
  }

  #push(event: Event): void {
    const heap = this.#heap;
    let at = heap.length;
    heap.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = event;
  }

  #pop(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
      if (!isBefore(heap[child]!, last)) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = last;
    return first;
  }
}

const isBefore = (a: Event, b: Event): boolean => a.atMs < b.atMs || (a.atMs === b.atMs && a.tie < b.tie);
