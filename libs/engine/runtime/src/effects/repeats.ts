/**
 * Owns the stop of an agent that runs in circles: the fold counts how often each question was asked (it survives restarts), and a
 * further call of one that was asked too often isn't made. Must not count.
 */

import type { EffectKey, Sha256, StreamState, TaskId } from '@tidemark/core';
import { ParkError } from '../definition/index.ts';

/** Why an agent that runs in circles is stopped. */
export const RUN_AWAY_LOOP = 'run-away-loop';

/** A call that is made again was counted when it was first intended. */
export const isIntended = ({ frontier }: StreamState, task: TaskId, key: EffectKey): boolean =>
  frontier.tasks.get(task)?.effects.some((effect) => effect.key === key) ?? false;

/** Throws `ParkError` (`run-away-loop`): an agent that asks the same again and again gets nowhere, even when every call succeeds. */
export function refuseRepeats(
  { repeats = [], workflow }: StreamState,
  question: Sha256,
  repeatsMax: number,
  what: string,
  key: EffectKey,
  /** The call's own asking is among those that were counted. */
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
