/**
 * Owns the stop of an agent that runs in circles. The fold counts how often each question was asked, so that the count survives restarts; a
 * question that was asked too often is not asked again. It does not count.
 */

import type { EffectKey, Sha256, StreamState, TaskId } from '@tidemark/core';
import { ParkError } from '../definition/index.ts';

/** The code under which an agent that runs in circles is parked. */
export const RUN_AWAY_LOOP = 'run-away-loop';

/** Whether the key was intended before. If so, its question was counted then. */
export const isIntended = ({ frontier }: StreamState, task: TaskId, key: EffectKey): boolean =>
  frontier.tasks.get(task)?.effects.some((effect) => effect.key === key) ?? false;

/**
 * Throws `ParkError` (`run-away-loop`) if the question was asked `repeatsMax` times: an agent that asks the same again and again makes no
 * progress, even when every call succeeds.
 */
export function refuseRepeats(
  { repeats = [], workflow }: StreamState,
  question: Sha256,
  repeatsMax: number,
  what: string,
  key: EffectKey,
  /** Whether the count includes this call already. */
  isCounted = false,
): void {
  const count = repeats.find((one) => one.question === question)?.count ?? 0;
  if (count < repeatsMax + (isCounted ? 1 : 0)) return;
  throw new ParkError(
    RUN_AWAY_LOOP,
    `Workflow ${workflow} has asked ${what} the same question ${count} times, which is the limit (repeatsMax): it is probably in a loop. Answer with retry to let it continue, or with fail.`,
    null,
    { what, count, question, key },
  );
}
