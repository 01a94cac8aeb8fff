/**
 * Owns the recovery rule: what is done about an effect that a dead holder left, from what the log says of it, what the outside
 * says of it, and what its definition registers. One pure table (architecture, section 4); no model has a say in it.
 */

import type { EffectKind } from './event.ts';
import type { EffectState } from './state.ts';

/**
 * What the outside says of an effect. For one whose outcome is open: `done`, `not-done` (told once a late call can't come
 * any more), `unknown`. For a resolved one: `done` means that it is still there (valid), anything else that it isn't. `none`:
 * there is nobody to ask.
 */
export type ProbeAnswer = 'done' | 'not-done' | 'unknown' | 'none';

export interface FoundEffect {
  readonly status: EffectState['status'];
  readonly kind: EffectKind;
  readonly answer: ProbeAnswer;
  /** A compensation is registered for this case and the workflow has not been undone before. */
  readonly mayCompensate: boolean;
}

/**
 * - `go-on`: nothing is to be done about it.
 * - `record-done`: it happened; its response is recorded.
 * - `call-again`: with the same key.
 * - `compensate`: the workflow is undone.
 * - `ask-person`: the workflow is parked with the evidence.
 * - `await-confirmation`: by signal, by further probes, at last by a person.
 */
export type RecoveryAction =
  | 'go-on'
  | 'record-done'
  | 'call-again'
  | 'compensate'
  | 'ask-person'
  | 'await-confirmation';

/** The table. A `failed` effect is one that certainly was not done. */
export function recoveryAction({ status, kind, answer, mayCompensate }: FoundEffect): RecoveryAction {
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
      if (answer === 'not-done') return 'call-again';
      return kind === 'irreversible' ? undo : 'call-again';
  }
}

/** Recovery attempts without a new checkpoint, within an hour, after which a person is asked (requirement D5). */
export const RECOVERY_ATTEMPTS_MAX = 3;
export const RECOVERY_WINDOW_MS = 3_600_000;
/** Deaths of holders without a new checkpoint, however long ago, after which the task that ran alone counts as poison. */
export const POISON_CRASHES_MAX = 6;

/** Whether the stream's crashes call for a person: too many within the hour, or too many at all; null: not yet. */
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
