/**
 * Owns what a failed attempt at a task means: another attempt by a durable timer, the end of the workflow, or a person. Must
 * not write anything.
 */

import {
  type EffectKey,
  type EffectState,
  type Frontier,
  InvalidError,
  LimitError,
  type TaskId,
  type TaskState,
} from '@tidemark/core';
import type { StepDefinition } from './definition.ts';
import type { Draft } from './held-stream.ts';
import type { Ports } from './ports.ts';
import { retryDelayMs } from './retry.ts';
import { EffectError, errorCode, errorNote, FatalError, ParkError } from './step-errors.ts';

/** The events that follow from it; more than one: the lease ends with them. `task` is as it stands now. */
export function failureDrafts(
  step: StepDefinition | undefined,
  task: TaskState,
  error: unknown,
  { clock, prng, telemetry }: Pick<Ports, 'clock' | 'prng' | 'telemetry'>,
): readonly Draft[] {
  const attempt = task.failureCount + 1;
  const code = errorCode(error);
  const policy = error instanceof EffectError ? error.retry : step?.retry;
  const again = policy !== undefined && attempt < policy.attempts && !isFatal(error);
  const timer = `retry:${task.id}:${attempt}`;
  const retry = again
    ? { timer, anchorMs: clock.nowMs(), delayMs: retryDelayMs(policy, attempt, prng.bytes(1)[0]! / 256) }
    : null;
  telemetry.count('step_retries_total', again ? 1 : 0, { step: task.step });
  const failed: Draft = {
    type: 'StepFailed',
    control: { task: task.id, attempt, code, retry },
    payload: { error: errorNote(error) },
  };
  if (again) return [failed];
  const open = task.effects.find(isOpenCall);
  // It may have happened: the workflow must not end as if it had not.
  if (open !== undefined) return [failed, parkDraft(openEffect(open.key, error), task.id)];
  return [failed, { type: 'WorkflowFailed', control: { code, task: task.id }, payload: { error: errorNote(error) } }];
}

export const parkDraft = (error: ParkError, task: TaskId): Draft => ({
  type: 'WorkflowParked',
  control: { code: error.code, task, key: error.key },
  payload: { error: errorNote(error), evidence: error.evidence },
});

/** Irreversible calls whose outcome is open, of every task but this one. */
export const openCalls = (
  frontier: Frontier,
  except: TaskId,
): readonly { readonly task: TaskId; readonly key: EffectKey }[] =>
  [...frontier.tasks].flatMap(({ id, effects }) =>
    id === except ? [] : effects.filter(isOpenCall).map(({ key }) => ({ task: id, key })),
  );

const isOpenCall = (effect: EffectState): boolean => effect.status === 'intended' && effect.kind === 'irreversible';

export function openEffect(key: EffectKey, error: unknown): ParkError {
  const message = `The step failed for good while the outcome of ${key} is open, so a person must decide: ${errorNote(error).message}`;
  return new ParkError('effect-unknown', message, key, { lastError: errorNote(error).message });
}

/** What no further attempt can mend: the user said so, or the values themselves are wrong. */
function isFatal(error: unknown): boolean {
  const cause = error instanceof EffectError ? error.cause : error;
  if (cause instanceof FatalError || cause instanceof LimitError) return true;
  return cause instanceof InvalidError && cause.code !== 'effect-open';
}
