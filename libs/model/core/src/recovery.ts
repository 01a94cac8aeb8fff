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

/** Crashes of a holder that ran nothing else, since its last progress, within an hour, after which a person decides (requirement D5). */
export const RECOVERY_ATTEMPTS_MAX = 3;
export const RECOVERY_WINDOW_MS = 3_600_000;
/** The same, however long ago, after which a task that ran alone counts as poison. */
export const POISON_CRASHES_MAX = 6;

/** Whether one task runs at a time and nothing beside the workflow: it may be what kills its holders, and a further death would show it. */
export const runsAlone = (stream: {
  readonly crashCount: number;
  readonly besideMax?: number | null | undefined;
}): boolean => stream.crashCount > 0 || stream.besideMax === 0;

/** Why a person must decide about the stream's crashes: there are too many within the hour, or too many at all. Null: not yet. */
export function crashVerdict(stream: {
  readonly crashCount: number;
  readonly crashTimesMs: readonly number[];
}): 'recovery-limit' | 'poison-task' | null {
  if (stream.crashCount >= POISON_CRASHES_MAX) return 'poison-task';
  const last = stream.crashTimesMs.at(-1);
  if (last === undefined) return null;
  const recentCount = stream.crashTimesMs.filter((atMs) => last - atMs <= RECOVERY_WINDOW_MS).length;
  return recentCount > RECOVERY_ATTEMPTS_MAX ? 'recovery-limit' : null;
}
