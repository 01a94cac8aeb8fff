/**
 * Owns which workflows run beside each other in one worker. A workflow that may be what kills its holders (`besideMax`) runs beside few others or
 * none. It is claimed first, so that no other worker makes room for it as well; then the newest of those that run are asked to go elsewhere, and
 * it waits for room. Meanwhile the worker takes no more jobs than may run, so that others take them. Where others have fewer than a share, runs
 * are given up as they come between two steps.
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
  #waiting: { readonly member: Member; readonly room: PromiseWithResolvers<void> } | undefined;
  #max: number | undefined;
  /** What a share leaves it, those that go and have not left yet, and who waits until no more than the share is left. */
  #share = Infinity;
  readonly #leaving = new Set<Member>();
  #kept: PromiseWithResolvers<void> | undefined;

  /** `narrow` receives each new `max`. */
  constructor(narrow: (max: number | undefined) => void) {
    this.#narrow = narrow;
  }

  /**
   * Whether its workflow may be claimed here; it must leave in the end. Otherwise its job belongs elsewhere: it may not run beside those that
   * do, and is no less suspect than one of them.
   */
  join(member: Member): boolean {
    if (this.#waiting !== undefined) return false;
    if (this.#allFit(member)) {
      this.#running.add(member);
      if (member.besideMax !== undefined) this.#adapt();
      return true;
    }
    const { besideMax } = member;
    if (besideMax === undefined || [...this.#running].some((other) => (other.besideMax ?? Infinity) <= besideMax)) {
      return false;
    }
    this.#waiting = { member, room: Promise.withResolvers() };
    this.#adapt();
    return true;
  }

  /** How many jobs the worker may take at most; undefined: as many as it can. */
  get max(): number | undefined {
    return this.#max;
  }

  isWaiting(member: Member): boolean {
    return this.#waiting?.member === member;
  }

  /** Makes room for the one that waits, once its workflow is claimed. Resolves when it may run, or has left. */
  async room(member: Member): Promise<void> {
    // The newest have done least in their lease.
    for (const other of [...this.#running].slice(member.besideMax)) other.stop.hold();
    await this.#waiting?.room.promise;
  }

  /** Keeps so many, and takes no more than that until it is given another number. Resolves once no more are left, or the next number came. */
  async keep(max: number): Promise<void> {
    this.#kept?.resolve();
    this.#kept = undefined;
    this.#share = max;
    this.#adapt();
    if (this.#running.size <= max) return;
    this.#kept = Promise.withResolvers();
    await this.#kept.promise;
  }

  /** A run has no step under way: it goes elsewhere now where more run than the share. Nothing that runs is kept from going on for it. */
  between(member: Member): void {
    if (!this.#running.has(member) || this.#running.size - this.#leaving.size <= this.#share) return;
    this.#leaving.add(member);
    member.stop.hold();
  }

  /** What it may have beside it from now on: any number after progress, since what kills its holder makes none. */
  restrict(member: Member, besideMax: number | undefined): void {
    if (member.besideMax === besideMax) return;
    member.besideMax = besideMax;
    this.#adapt();
  }

  leave(member: Member): void {
    this.#running.delete(member);
    this.#leaving.delete(member);
    if (this.#running.size <= this.#share) this.#kept?.resolve();
    if (this.isWaiting(member)) {
      this.#waiting?.room.resolve();
      this.#waiting = undefined;
    }
    if (this.#max !== undefined) this.#adapt();
  }

  #allFit(newcomer: Member): boolean {
    if (this.#max === undefined && newcomer.besideMax === undefined) return true;
    const besides = this.#running.size;
    return [newcomer, ...this.#running].every(({ besideMax = besides }) => besides <= besideMax);
  }

  #adapt(): void {
    const waiting = this.#waiting;
    if (waiting !== undefined && this.#allFit(waiting.member)) {
      this.#waiting = undefined;
      this.#running.add(waiting.member);
      waiting.room.resolve();
    }
    const limits = [...this.#running, ...(this.#waiting === undefined ? [] : [this.#waiting.member])];
    const least = Math.min(...limits.map(({ besideMax = Infinity }) => besideMax));
    const most = Math.min(least + 1, this.#share);
    const max = most === Infinity ? undefined : most;
    if (max === this.#max) return;
    this.#max = max;
    this.#narrow(max);
  }
}
