/**
 * Owns which workflows run beside each other in one worker. A workflow that may be what kills its holders (`besideMax`) runs beside few others or
 * none: it waits for room, and some of those that run are asked to go elsewhere. What would be too many beside it is passed on, and the
 * worker takes no more jobs than may run, so that others take them.
 */

import type { RunStop } from '../control/index.ts';

export interface Member {
  /** The most that may run beside it; undefined: any number. */
  besideMax: number | undefined;
  /** Holding it makes the run hand its workflow over once the steps under way have ended. */
  readonly stop: Pick<RunStop, 'aborted' | 'hold'>;
}

export class Company {
  readonly #narrow: (max: number | undefined) => void;
  readonly #running = new Set<Member>();
  #waiting: { readonly member: Member; readonly end: (hasRoom: boolean) => void } | undefined;
  #narrowedTo: number | undefined;

  /** `narrow` sets how many jobs the worker takes at most; undefined: as many as it can. */
  constructor(narrow: (max: number | undefined) => void) {
    this.#narrow = narrow;
  }

  /** Resolves with whether it may run here; it must leave then. Otherwise its job belongs elsewhere: too many run, or the signal aborted. */
  async join(member: Member, signal: AbortSignal): Promise<boolean> {
    if (this.#waiting !== undefined) return false;
    const { besideMax } = member;
    if (this.#allFit(member)) return this.#begin(member);
    return besideMax !== undefined && this.#running.size > besideMax && this.#room(member, besideMax, signal);
  }

  /** What it may have beside it from now on: any number once it has got on, since what kills its holder does not get on. */
  restrict(member: Member, besideMax: number | undefined): void {
    if (member.besideMax === besideMax) return;
    member.besideMax = besideMax;
    this.#adapt();
  }

  leave(member: Member): void {
    this.#running.delete(member);
    if (this.#narrowedTo !== undefined) this.#adapt();
  }

  #begin(member: Member): true {
    this.#running.add(member);
    if (member.besideMax !== undefined) this.#adapt();
    return true;
  }

  async #room(member: Member, besideMax: number, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const stop = (): void => resolve(false);
    this.#waiting = { member, end: resolve };
    // The newest have done least in their lease.
    for (const other of [...this.#running].slice(besideMax)) other.stop.hold();
    this.#adapt();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const hasRoom = await promise;
    signal.removeEventListener('abort', stop);
    if (hasRoom) return true;
    this.#waiting = undefined;
    this.#adapt();
    return false;
  }

  #allFit(newcomer: Member): boolean {
    if (this.#narrowedTo === undefined && newcomer.besideMax === undefined) return true;
    const besides = this.#running.size;
    return [newcomer, ...this.#running].every(({ besideMax = besides }) => besides <= besideMax);
  }

  #adapt(): void {
    const waiting = this.#waiting;
    if (waiting !== undefined && this.#allFit(waiting.member)) {
      this.#waiting = undefined;
      this.#running.add(waiting.member);
      waiting.end(true);
    }
    const limits = [...this.#running, ...(this.#waiting === undefined ? [] : [this.#waiting.member])];
    const least = Math.min(...limits.map(({ besideMax = Number.POSITIVE_INFINITY }) => besideMax));
    const max = Number.isFinite(least) ? least + 1 : undefined;
    if (max === this.#narrowedTo) return;
    this.#narrowedTo = max;
    this.#narrow(max);
  }
}
