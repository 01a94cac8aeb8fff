/**
 * Owns the contract of what calls to the outside share: limits and a circuit breaker for each provider, model and effect, over the whole
 * fleet. What an implementation knows is a hint: lost, it is learned again, and no call is lost or doubled by it. It never decides whether
 * an effect may be repeated.
 */

import type { TenantId } from '@tidemark/core';

/** At most `count` in each period of `perMs`, spread over it. */
export interface CallRate {
  readonly count: number;
  readonly perMs: number;
}

/** One thing that calls share, with its limits as the caller's definition declares them. */
export interface CallScope {
  readonly key: string;
  readonly rate?: CallRate | undefined;
  readonly tokens?: CallRate | undefined;
  /** Calls at once. */
  readonly concurrency?: number | undefined;
  /** A wait that a receiver asks for is of this scope: of its scopes, a call has one such. */
  readonly isAsked?: boolean | undefined;
}

export interface AskedTurn {
  /** The effect's key: a call that comes back has the place that it had. */
  readonly who: string;
  readonly tenant: TenantId;
  readonly scopes: readonly CallScope[];
  /** What it may use of a limit of tokens. */
  readonly tokens: number;
  /** Longest time after which the call is ended, in milliseconds, whatever became of it. */
  readonly timeoutMs: number;
  /** A wait of up to so many milliseconds is granted with the turn. */
  readonly waitMaxMs: number;
}

/**
 * `pass`: the call may be made `inMs` from now, and its end must be reported. `wait`: not before `waitMs` have passed; the place is kept. `why`: the fault for which the
 * circuit is open, of which `faultMs` are left; absent: it waits for its turn alone.
 */
export type CallTurn =
  | { readonly kind: 'pass'; readonly call: string; readonly inMs: number }
  | {
      readonly kind: 'wait';
      readonly waitMs: number;
      readonly scope: CallScope;
      readonly why?: string | undefined;
      readonly faultMs: number;
    };

/** How a call ended. `unmade`: nothing was sent. `unknown`: it was made, and says nothing of its receiver. */
export type CallEnd =
  | { readonly kind: 'answered'; readonly tookMs: number; readonly tokens?: number | undefined }
  | {
      readonly kind: 'fault';
      readonly why: string;
      /** The receiver says that it is called too often. */
      readonly isLimited: boolean;
      /** The wait that it asks for. */
      readonly askedMs?: number | undefined;
    }
  | { readonly kind: 'unmade' | 'unknown' };

export interface CallLimiter {
  /** Takes the call's turn, or a place in line. Never throws: while the limits can't be asked, calls pass. */
  ask(asked: AskedTurn): Promise<CallTurn>;
  /** Reports the end of a call that passed. Never throws. */
  end(asked: AskedTurn, call: string, end: CallEnd): Promise<void>;
  close(): Promise<void>;
}

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

/** Counts the faults of scopes that came in a row. */
export class FaultRows {
  readonly #rows = new Map<string, number>();

  /** Returns whether the call's end makes a row that opens the scope's circuit. */
  isTrip({ key }: CallScope, end: CallEnd): boolean {
    if (end.kind === 'unmade' || end.kind === 'unknown') return false;
    const row = end.kind === 'fault' ? (this.#rows.get(key) ?? 0) + 1 : 0;
    this.#rows.delete(key);
    if (row === 0 || row >= CALL_RULES.faultsInRow) return row > 0;
    this.#rows.set(key, row);
    if (this.#rows.size > COUNTED_SCOPES_MAX) this.#rows.delete(this.#rows.keys().next().value!);
    return false;
  }
}
