/**
 * Owns how a definition's compensations are called: as idempotent effects of the undo workflow, journaled like any other, so each is called
 * until it is known to be done. The effect's request is the compensation's argument.
 */

import type { Json } from '@tidemark/core';
import { asIs, type Definition, type EffectDefinition, FatalError, type StepDefinition } from '../definition/index.ts';
import { NO_RETRY } from '../kernel/index.ts';

/** Longest time that compensating a step may take, in milliseconds; effects have their own limit. */
const STEP_UNDO_TIMEOUT_MS = 60_000;

/** Compensations of effects that happened, of effects that may have happened, and of steps, by operation of the undo's effect. */
export type UndoEffects = ReadonlyMap<string, EffectDefinition>;

export const undoOperation = (operation: string, outcome: 'done' | 'unknown'): string =>
  `${operation}${outcome === 'done' ? '~undo' : '~undo-unknown'}`;
export const stepUndoOperation = (step: string): string => `step.${step}~undo`;

export function undoEffects({ effects, steps }: Pick<Definition, 'effects' | 'steps'>): UndoEffects {
  const all = [...effects.flatMap(effectUndos), ...[...steps.values()].flatMap(stepUndos)];
  return new Map(all.map((effect) => [effect.operation, effect]));
}

function effectUndos(effect: EffectDefinition): readonly EffectDefinition[] {
  const { operation, compensate, compensateUnknown, parseResponse } = effect;
  const known =
    compensate &&
    undoEffect(effect, undoOperation(operation, 'done'), async (response, context) => {
      await compensate(parseResponse(response), context);
    });
  const unknown = compensateUnknown && undoEffect(effect, undoOperation(operation, 'unknown'), compensateUnknown);
  return [...(known ? [known] : []), ...(unknown ? [unknown] : [])];
}

function stepUndos({ name, retry, compensate }: StepDefinition): readonly EffectDefinition[] {
  if (compensate === undefined) return [];
  const limits = { retry, timeoutMs: STEP_UNDO_TIMEOUT_MS, confirm: NO_CONFIRMATION };
  const undo: Undo = (done, context) => compensate(done as { input: Json; output: Json }, context);
  return [undoEffect(limits, stepUndoOperation(name), undo)];
}

/** For an effect that the definition does not list: only a person, or a build that lists it, can compensate it. */
export const missingUndo = (operation: string, outcome: 'done' | 'unknown'): EffectDefinition =>
  undoEffect({ ...MISSING, timeoutMs: STEP_UNDO_TIMEOUT_MS }, undoOperation(operation, outcome), async () => {
    throw new FatalError(
      `No effect '${operation}' is among this definition's effects, so it can't be compensated here. Run a build that lists it, or compensate it by hand.`,
    );
  });

type Undo = (given: Json, context: Parameters<EffectDefinition['call']>[1]) => Promise<void>;
type Limits = Pick<EffectDefinition, 'retry' | 'timeoutMs' | 'confirm' | 'heartbeatTimeoutMs'>;

/** A compensation is done when it returns; none is confirmed later. */
const NO_CONFIRMATION: EffectDefinition['confirm'] = {
  probeEveryMs: STEP_UNDO_TIMEOUT_MS,
  timeoutMs: STEP_UNDO_TIMEOUT_MS,
};
const MISSING: Omit<Limits, 'timeoutMs'> = {
  confirm: NO_CONFIRMATION,
  retry: NO_RETRY,
};

const undoEffect = (limits: Limits, operation: string, undo: Undo): EffectDefinition => ({
  operation,
  kind: 'idempotent',
  timeoutMs: limits.timeoutMs,
  heartbeatTimeoutMs: limits.heartbeatTimeoutMs,
  confirm: limits.confirm,
  retry: limits.retry,
  parseRequest: asIs,
  parseResponse: () => null,
  call: (given, context) => undo(given, context),
});
