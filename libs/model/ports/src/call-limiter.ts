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
  /**
   * A wait that a receiver asks for, and that it is called too often, is of this scope alone: of its scopes, a call has one such. Of wider
   * ones it may be true of one model, or of one tenant's receiver, and not of all others.
   */
  readonly isAsked?: boolean | undefined;
}

export interface AskedTurn {
  /** The effect's key: a call that comes back has the place that it had. */
  readonly who: string;
  readonly tenant: TenantId;
  /** Each key once. */
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
