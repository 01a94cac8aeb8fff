/**
 * Owns what implementations of CallLimiter have in common: the figures of their rules, and the count of faults that came in a row. An entry
 * point of its own, since only what limits calls needs it.
 */

import { keepLast } from '@tidemark/core';
import type { CallEnd, CallScope } from './call-limiter.ts';

/** The figures of the rules that every implementation follows; times in milliseconds. */
export const CALL_RULES = {
  /** Faults in a row of one scope, seen by one process, after which its circuit opens. */
  faultsInRow: 5,
  /** An open circuit lets a trial through after this, doubling with each trial that fails. */
  openFirstMs: 1_000,
  openMaxMs: 30_000,
  /** Whatever one receiver asks for, others may try so soon: its answer may be about the one who asked. */
  askedMaxMs: 300_000,
  /** Of the time that a circuit has been open, so much more is waited by those who come: of a long outage few events are written. */
  outageShare: 0.125,
  /** Longest wait for a trial under way. */
  trialWaitMaxMs: 5_000,
  /** Share of a period's calls that may be made at once; the others are spread over it. */
  burstShare: 0.05,
  /** Time from call to call that is learned: first after an outage, first after too many calls where no rate is known, and its bounds. */
  learnedFirstMs: 1_000,
  limitedFirstMs: 100,
  learnedMinMs: 5,
  learnedMaxMs: 60_000,
  /** In line a learned time counts for no more, since it shortens as soon as calls are answered. */
  learnedPlanMaxMs: 50,
  /** What an answer makes of it: after an outage, and after too many calls. */
  slowStartFactor: 0.9,
  fasterFactor: 0.99,
  /** Weight of the newest call in the mean duration of calls. */
  meanWeight: 0.1,
  /** Shortest wait for another call to end. */
  fullWaitMinMs: 50,
  /** What was learned is forgotten after this without a fault. */
  troubleMs: 600_000,
  /** Time that a call may take besides its time-out. */
  callSpanMs: 10_000,
};

/** Scopes whose faults a process counts at once; of the one that was counted least lately it forgets them. */
const COUNTED_SCOPES_MAX = 10_000;

/** What the end of a call says of one of its scopes. */
const endOf = (end: CallEnd, { isAsked }: CallScope): CallEnd =>
  end.kind === 'fault' && (end.isLimited || end.askedMs !== undefined) && isAsked !== true ? { kind: 'unknown' } : end;

export const isDeclared = ({ rate, tokens, concurrency }: CallScope): boolean =>
  (rate ?? tokens ?? concurrency) !== undefined;

/** Counts the faults of scopes that came in a row. */
export class FaultRows {
  readonly #rows = new Map<string, number>();

  /** What the end of a call says of the scope: whether its row of faults opens the circuit, and whether there is trouble at all. */
  judge(
    scope: CallScope,
    ended: CallEnd,
  ): { readonly end: CallEnd; readonly isTrip: boolean; readonly isTrouble: boolean } {
    const end = endOf(ended, scope);
    const isTrip = this.#isTrip(scope, end);
    const isTrouble = end.kind === 'fault' && (isTrip || end.isLimited || end.askedMs !== undefined);
    return { end, isTrip, isTrouble };
  }

  #isTrip({ key }: CallScope, end: CallEnd): boolean {
    if (end.kind === 'unmade' || end.kind === 'unknown') return false;
    const row = end.kind === 'fault' ? (this.#rows.get(key) ?? 0) + 1 : 0;
    this.#rows.delete(key);
    if (row === 0 || row >= CALL_RULES.faultsInRow) return row > 0;
    keepLast(this.#rows, key, row, COUNTED_SCOPES_MAX);
    return false;
  }
}
