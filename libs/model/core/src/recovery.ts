/**
 * Owns the recovery rule: what happens to an effect that a dead holder left, given its status in the log, the answer of its probe, and the
 * compensation that its definition registers. One pure table (docs/guarantees.md, the recovery table); no model has a say in it.
 */

import type { EffectKind } from './event.ts';
import type { EffectState } from './state.ts';

/**
 * The answer of a probe. For an effect whose outcome is open: `done`, `not-done` (no late call can arrive any more), `unknown`. For a
 * resolved one: `done` means that it is still in place (valid); anything else means that it isn't. `none`: the effect has no probe.
 */
export type ProbeAnswer = 'done' | 'not-done' | 'unknown' | 'none';

export interface FoundEffect {
  readonly status: EffectState['status'];
  readonly kind: EffectKind;
  readonly answer: ProbeAnswer;
  /** A compensation is registered for this case, and the workflow was not compensated before. */
  readonly mayCompensate: boolean;
  /**
   * A holder that fell silent may still make the call, however long ago it began it: it is not known to be gone, the answer doesn't fence
   * the key, and the definition doesn't take that risk.
   */
  readonly mayStillCall: boolean;
}

/**
 * - `go-on`: nothing has to be done.
 * - `record-done`: it happened; record its response.
 * - `call-again`: with the same key.
 * - `compensate`: compensate the workflow.
 * - `ask-person`: park the workflow with the evidence.
 * - `await-confirmation`: wait for a signal, then probe, then ask a person.
 */
export type RecoveryAction =
  | 'go-on'
  | 'record-done'
  | 'call-again'
  | 'compensate'
  | 'ask-person'
  | 'await-confirmation';

/** The table. A `failed` effect is one that certainly did not happen. */
export function recoveryAction({ status, kind, answer, mayCompensate, mayStillCall }: FoundEffect): RecoveryAction {
  const undo = mayCompensate ? 'compensate' : 'ask-person';
  switch (status) {
    case 'done':
      if (kind === 'pure' || answer === 'done') return 'go-on';
      return kind === 'idempotent' && answer === 'none' ? 'go-on' : undo;
    case 'failed':
      return 'call-again';
    case 'pending':
      return answer === 'done' ? 'record-done' : 'await-confirmation';
    case 'intended':
      if (answer === 'done') return 'record-done';
      if (kind === 'irreversible' && mayStillCall) return 'ask-person';
      if (answer === 'not-done') return 'call-again';
      return kind === 'irreversible' ? undo : 'call-again';
  }
}

/**
 * How a workflow is run again after crashes of holders that ran nothing else, since its last progress. The fold counts them; whoever claims
 * judges them by this, and writes what follows.
 */
export interface RecoveryPolicy {
  /** Crashes within the window that are survived; at the next one a person decides, and at twice as many (4 at least) however long ago. */
  readonly attempts: number;
  readonly windowMs: number;
  /** Wait after the first crash, doubling with each. */
  readonly delayMs: number;
}

/** Unless definition or fleet say otherwise (requirement D5). */
export const DEFAULT_RECOVERY: RecoveryPolicy = { attempts: 3, windowMs: 3_600_000, delayMs: 0 };
/** What a definition says of it. */
export type RecoveryOptions = { readonly [name in keyof RecoveryPolicy]?: number | undefined };

export const recoveryPolicy = (own: RecoveryOptions | undefined, fleet: RecoveryPolicy = DEFAULT_RECOVERY) => ({
  attempts: own?.attempts ?? fleet.attempts,
  windowMs: own?.windowMs ?? fleet.windowMs,
  delayMs: own?.delayMs ?? fleet.delayMs,
});

/** At least so many crashes more than are survived within the window make a task poison, however far apart. */
const POISON_CRASHES_MORE = 3;
/** Longest wait after a crash, in milliseconds. */
const RECOVERY_DELAY_MAX_MS = 3_600_000;

/** Whether one task runs at a time and nothing beside the workflow: it may be what kills its holders, and a further death would show it. */
export const runsAlone = (stream: {
  readonly crashCount: number;
  readonly besideMax?: number | null | undefined;
}): boolean => stream.crashCount > 0 || stream.besideMax === 0;

/** Why a person must decide about the stream's crashes: there are too many within the hour, or too many at all. Null: not yet. */
export function crashVerdict(
  stream: { readonly crashCount: number; readonly crashTimesMs: readonly number[] },
  { attempts, windowMs }: RecoveryPolicy = DEFAULT_RECOVERY,
): 'recovery-limit' | 'poison-task' | null {
  if (stream.crashCount >= attempts + Math.max(POISON_CRASHES_MORE, attempts)) return 'poison-task';
  const last = stream.crashTimesMs.at(-1);
  if (last === undefined) return null;
  const recentCount = stream.crashTimesMs.filter((atMs) => last - atMs <= windowMs).length;
  return recentCount > attempts ? 'recovery-limit' : null;
}

/** How long the workflow still rests after its last crash, in milliseconds. */
export function crashRestMs(
  { crashCount, crashTimesMs }: { readonly crashCount: number; readonly crashTimesMs: readonly number[] },
  { delayMs }: RecoveryPolicy,
  nowMs: number,
): number {
  const last = crashTimesMs.at(-1);
  if (last === undefined) return 0;
  const restMs = Math.min(delayMs * 2 ** (crashCount - 1), RECOVERY_DELAY_MAX_MS);
  // The clock of who saw the crash may be ahead.
  return Math.min(restMs, Math.max(0, last + restMs - nowMs));
}
