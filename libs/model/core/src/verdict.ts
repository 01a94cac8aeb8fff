/** Owns what the fold says of an event. A rejection is a value with a reason, never an error. */

import type { Position } from './ids.ts';

/**
 * Why an event changed nothing.
 * - `stale-epoch`: written under a lease that has ended, or a claim of an epoch already used.
 * - `wrong-holder`: the epoch is live, or was never given, and the writer doesn't hold it.
 * - `duplicate`: the same thing was accepted before (id, ordinal, task, effect outcome).
 * - `ordinal-gap`: an earlier event of the same holder (or an earlier epoch) is missing.
 * - `wrong-parent`: a checkpoint whose parent or sequence doesn't continue the chain.
 * - `lamport-regression`: not after the holder's own previous event.
 * - `clock-regression`: a checkpoint older than its parent by more than the tolerance.
 * - `closed`: the workflow has ended; `parked`: it waits for a person, or is paused.
 * - `wrong-generation`: another generation than the stream's, or an unknown workflow.
 * - `malformed`: bytes that are no event.
 * - `unknown-task`: names a task of a checkpoint that isn't there yet, or a timer that nobody waits for.
 * - `not-intended`: an effect's outcome without its open, accepted intention, or a checkpoint while one is open (I4).
 * - `request-changed`: the same effect key with another request digest.
 * - `not-asked`: answers a question that the workflow doesn't ask (any more), or can't be answered like that; asks for what is so already.
 * - `signals-full`: more signals than a stream keeps, and nobody waits for this one.
 * - `stale-version`: a checkpoint of an older version than the workflow has reached, or of another than it is pinned to.
 */
export type RejectReason =
  | 'stale-epoch'
  | 'wrong-holder'
  | 'duplicate'
  | 'ordinal-gap'
  | 'wrong-parent'
  | 'lamport-regression'
  | 'clock-regression'
  | 'closed'
  | 'parked'
  | 'wrong-generation'
  | 'malformed'
  | 'unknown-task'
  | 'not-intended'
  | 'request-changed'
  | 'not-asked'
  | 'signals-full'
  | 'stale-version';

export type Verdict =
  | { readonly kind: 'accepted'; readonly position: Position }
  | { readonly kind: 'rejected'; readonly reason: RejectReason }
  /** Left for a newer process: this one can't read it, or something before it in the same stream. */
  | { readonly kind: 'unreadable' };

/** One value per reason, since a flood of rejected records should cost no garbage. */
const rejections = new Map<RejectReason, Verdict>();

export function rejected(reason: RejectReason): Verdict {
  const known = rejections.get(reason);
  if (known !== undefined) return known;
  const verdict: Verdict = Object.freeze({ kind: 'rejected', reason });
  rejections.set(reason, verdict);
  return verdict;
}
