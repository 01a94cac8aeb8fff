/**
 * Owns the way between processes and servers: every call of a port travels there and back, each way taking a time drawn from the seed. A
 * cut link loses the request or the answer, which its caller can't distinguish. Traps see each call when it is sent and when it has taken
 * effect. Must not know what calls mean.
 */

import { UnavailableError } from '@tidemark/core';
import type { SimulatedProcess } from './process.ts';
import type { SeededRandom } from './random.ts';
import type { Scheduler } from './scheduler.ts';

export type Link = 'log' | 'store' | 'redis' | 'outside' | 'objects';
export const LINKS: readonly Link[] = ['log', 'store', 'redis', 'outside'];

export interface Call {
  readonly process: SimulatedProcess;
  readonly link: Link;
  /** The port's operation; of an append the types of its events. */
  readonly operation: string;
  readonly phase: 'sent' | 'done';
}

/** One way, usually; milliseconds. */
const LATENCY_MS: Readonly<Record<Link, number>> = { log: 1.5, store: 2, redis: 0.6, outside: 8, objects: 10 };
/** Share of the trips that take no time at all, and of those that take long. */
const AT_ONCE = 0.35;
const LATE = 0.01;
const LATE_FACTOR = 25;
/** A command to Redis times out after so many milliseconds, as in its client; it may arrive all the same. */
const REDIS_PATIENCE_MS = 5_000;
/** A caller stops waiting for an answer after so many milliseconds. */
const GIVE_UP_MS = { min: 150, max: 900 };

export class Network {
  readonly #scheduler: Scheduler;
  readonly #random: SeededRandom;
  /** `process link` and `* link`. */
  readonly #cut = new Map<string, number>();
  readonly #slow = new Map<Link, number>();
  /** Called for every call; it may kill or pause the process. */
  onCall: ((call: Call) => void) | undefined;
  /** When each process's link to Redis last was cut or slow; for the judge. */
  readonly disturbedMs = new Map<string, number>();

  constructor(scheduler: Scheduler, random: SeededRandom) {
    this.#scheduler = scheduler;
    this.#random = random;
  }

  /** Cuts a link of one process, or of all (`*`), until the returned function is called. */
  cut(process: string, link: Link): () => void {
    const name = `${process} ${link}`;
    this.#cut.set(name, (this.#cut.get(name) ?? 0) + 1);
    this.disturbedMs.set(name, Number.POSITIVE_INFINITY);
    return () => {
      this.#cut.set(name, this.#cut.get(name)! - 1);
      this.disturbedMs.set(name, this.#scheduler.nowMs);
    };
  }

  /** All trips of the link take so many times longer, until the returned function is called. */
  slow(link: Link, factor: number): () => void {
    this.#slow.set(link, factor);
    this.disturbedMs.set(`* ${link}`, Number.POSITIVE_INFINITY);
    return () => {
      this.#slow.delete(link);
      // A request sent meanwhile may be under way for as long as its sender waits.
      const afterMs = link === 'redis' ? REDIS_PATIENCE_MS : 0;
      this.disturbedMs.set(`* ${link}`, this.#scheduler.nowMs + afterMs);
    };
  }

  isCut(process: SimulatedProcess, link: Link): boolean {
    // Of most seeds no link ever is, and each trip asks.
    if (this.#cut.size === 0) return false;
    return (this.#cut.get(`${process.name} ${link}`) ?? 0) > 0 || (this.#cut.get(`* ${link}`) ?? 0) > 0;
  }

  /** Time of one trip, in milliseconds. */
  tripMs(link: Link): number {
    const draw = this.#random.unit();
    const slow = this.#slow.get(link);
    if (draw < AT_ONCE && slow === undefined) return 0;
    const usual = LATENCY_MS[link] * 2 * this.#random.unit();
    return usual * (slow ?? 1) * (draw > 1 - LATE ? LATE_FACTOR : 1);
  }

  /** Calls the traps; false when the process has died of it. */
  trap(process: SimulatedProcess, link: Link, operation: string, phase: Call['phase']): boolean {
    if (process.isDead) return false;
    this.onCall?.({ process, link, operation, phase });
    return !process.isDead;
  }

  /** A request on its way may be lost with the process that sent it. */
  isLost(process: SimulatedProcess): boolean {
    return process.isDead && this.#random.chance(0.5);
  }

  /** Calls `effect` at the server; the promise of a dead process never settles. */
  call<T>(process: SimulatedProcess, link: Link, operation: string, effect: () => T | Promise<T>): Promise<T> {
    if (!this.trap(process, link, operation, 'sent')) return never();
    return new Promise<T>((resolve, reject) => {
      const giveUpIn = (ms: number): void => {
        this.#scheduler.after(ms, () =>
          process.deliver(() => reject(new UnavailableError(`${link}-away`, `${operation}: no answer.`))),
        );
      };
      const giveUp = (): void => giveUpIn(this.#random.between(GIVE_UP_MS.min, GIVE_UP_MS.max));
      const travel = (arrive: () => 'quiet' | undefined): void => {
        const tripMs = this.tripMs(link);
        if (link === 'redis' && tripMs > REDIS_PATIENCE_MS) giveUpIn(REDIS_PATIENCE_MS);
        if (tripMs === 0) arrive();
        else this.#scheduler.after(tripMs, arrive);
      };
      const answer = (settle: () => void): void => {
        this.trap(process, link, operation, 'done');
        if (this.isCut(process, link)) giveUp();
        else travel(() => process.deliver(settle));
      };
      travel(() => {
        if (this.isLost(process)) return 'quiet';
        if (this.isCut(process, link)) {
          giveUp();
          return 'quiet';
        }
        return perform(effect, answer, resolve, reject);
      });
    });
  }
}

function perform<T>(
  effect: () => T | Promise<T>,
  answer: (settle: () => void) => void,
  resolve: (value: T) => void,
  reject: (error: unknown) => void,
): 'quiet' | undefined {
  try {
    const value = effect();
    if (value instanceof Promise) {
      value.then(
        (settled) => answer(() => resolve(settled)),
        (error: unknown) => answer(() => reject(error)),
      );
      return undefined;
    }
    answer(() => resolve(value));
  } catch (error) {
    answer(() => reject(error));
  }
  return 'quiet';
}

export const never = <T>(): Promise<T> => new Promise<T>(() => {});
