/** Owns the warnings of a definition: what works, but has a consequence that its author should know before it runs. */

import { type EffectDefinition, unprobedWords } from '@tidemark/runtime';
import type { AnySpec } from './definition-checks.ts';
import type { DefinitionWarning } from './problem.ts';
import { settingsOf } from './step.ts';

/** Each names the consequence and what to do. */
export function warningsOf(spec: AnySpec): readonly DefinitionWarning[] {
  const effects = spec.effects ?? [];
  return [
    ...effects.flatMap(unsettled),
    ...(spec.onFailure === 'compensate' ? withoutCompensation(spec, effects) : []),
  ];
}

/** Effects whose unclear outcome no program can settle. */
function unsettled(effect: EffectDefinition): readonly DefinitionWarning[] {
  if (effect.kind !== 'irreversible' || effect.probe !== undefined) return [];
  return [{ code: 'effect-without-probe', subject: effect.operation, message: unprobedWords(effect) }];
}

/** Effects that a workflow with compensation can't compensate. */
function withoutCompensation(spec: AnySpec, effects: readonly EffectDefinition[]): readonly DefinitionWarning[] {
  const hasSteps = Object.values(spec.steps).some((step) => settingsOf(step).compensate !== undefined);
  if (!hasSteps && !effects.some((effect) => effect.compensate !== undefined)) {
    const message = `onFailure is 'compensate', but none of the effects listed in effects, and no step, has a compensate: nothing will be compensated. Add compensate, and list the effects.`;
    return [{ code: 'nothing-to-compensate', subject: spec.name, message }];
  }
  return effects
    .filter((effect) => effect.kind === 'irreversible' && effect.compensate === undefined)
    .map((effect) => ({
      code: 'effect-without-compensate',
      subject: effect.operation,
      message: `Effect ${effect.operation} is irreversible and has no compensate: when ${spec.name} is compensated after a failure, it stays done, and is only listed there as left as it is. Add compensate, or let its step undo it.`,
    }));
}
