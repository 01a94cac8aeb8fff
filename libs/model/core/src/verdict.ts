/** Owns the fold's verdict on an event. A rejection is a value with a reason, never an error. */

import type { Position } from './ids.ts';

/**
 * Why an event changed nothing.
 * - `stale-epoch`: its lease has ended, or a claim names an epoch that was used already.
 * - `wrong-holder`: the epoch is live, or was never given, and the writer doesn't hold it.
 * - `duplicate`: the same thing was accepted before (id, ordinal, task, effect outcome).
 * - `ordinal-gap`: an earlier event of the same holder (or an earlier epoch) is missing.
 * - `wrong-parent`: a checkpoint whose parent or sequence doesn't continue the chain.
 * - `lamport-regression`: not after the holder's own previous event.
 * - `clock-regression`: a checkpoint older than its parent by more than the tolerance.
 * - `closed`: the workflow has ended; `parked`: it waits for a person, or is paused.
 * - `wrong-generation`: not the stream's generation, or an unknown workflow.
 * - `malformed`: bytes that are no event.
 * - `unknown-task`: names a task of a checkpoint that doesn't exist yet, or a timer that no task awaits.
 * - `not-intended`: an effect's outcome without its open, accepted intention, or a checkpoint while one is open (I4).
 * - `request-changed`: the same effect key with another request digest.
 * - `not-asked`: answers a question that is not open or can't be answered like that, or requests what is so already.
 * - `signals-full`: the stream stores no more signals, and no task awaits this one.
 * - `stale-version`: a checkpoint of an older version than the workflow's, or of another than the pinned one.
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
  /** This process can't read the event, or an earlier one of the same stream; a newer process may. */
  | { readonly kind: 'unreadable' };

/** One value per reason, so that a flood of rejected records makes no garbage. */
const rejections = new Map<RejectReason, Verdict>();

export function rejected(reason: RejectReason): Verdict {
  const known = rejections.get(reason);
  if (known !== undefined) return known;
  const verdict: Verdict = Object.freeze({ kind: 'rejected', reason });
  rejections.set(reason, verdict);
  return verdict;
}
