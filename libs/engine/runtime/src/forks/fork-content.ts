/**
 * Owns the content that a fork begins with: input, belief and task inputs as they were at the checkpoint, or converted to a given version,
 * input or belief, checked by a known definition. Pure.
 */

import { canonicalJson, type ForkOrigin, toJson } from '@tidemark/codec';
import { InvalidError, type Json, type StreamState } from '@tidemark/core';
import { type Definition, hasBegun, ParkError } from '../definition/index.ts';
import { definitionFor, type PastWorkflow, resolveTask, upcastBelief, upcastInput } from '../history/index.ts';

export interface GivenContent {
  /** Replaces the input of the workflow; checked by the definition. */
  readonly input?: unknown;
  /** Replaces the belief at the checkpoint; checked by the definition. */
  readonly belief?: unknown;
  /** The exact version that it runs with; absent: the base's version, or a newer one that can run it. */
  readonly version?: number | undefined;
  /** Known definitions: one of them must check a given belief or version. */
  readonly definitions?: readonly Definition[] | undefined;
}

/** The definition that checks given content; undefined: nothing is given, and none is known. */
export function chosenDefinition(state: StreamState, options: GivenContent): Definition | undefined {
  const { version, belief, input, definitions = [] } = options;
  const isGiven = belief !== undefined || input !== undefined;
  const named = definitions.filter(({ name }) => name === state.definition);
  const wanted = version ?? state.version;
  const found =
    named.find((one) => one.version === wanted) ?? (version === undefined ? definitionFor(named, state) : undefined);
  // What stands for the code checks an input, and can neither convert nor check a belief.
  const isEnough = found?.isRegistered !== true || (belief === undefined && version === undefined);
  if (found !== undefined && isEnough) return found;
  if (named.length === 0 && version === undefined && !isGiven) return undefined;
  const known = named.map((one) => `v${one.version}`).join(', ') || 'none of that name';
  const field = version !== undefined ? 'version' : belief !== undefined ? 'belief' : 'input';
  throw new InvalidError(
    'version-unknown',
    `${field}: ${state.definition} v${wanted} must be known here to check it; known: ${known}. Name its module (--workflows).`,
    { definition: state.definition, version: wanted },
  );
}

export interface ForkContent extends Pick<ForkOrigin, 'isChanged' | 'inputVersion' | 'beliefVersion'> {
  readonly version: number;
  readonly input: Json;
  readonly belief: Json;
  /** In order of creation. */
  readonly tasks: readonly { readonly step: string; readonly input: Json; readonly version: number }[];
}

/** The content at the checkpoint, or its conversion to the chosen version. */
export function contentOf(past: PastWorkflow, definition: Definition | undefined, options: GivenContent): ForkContent {
  const { state, content } = past;
  const isOther =
    options.version !== undefined ||
    ((options.belief !== undefined || options.input !== undefined) && definition!.version !== state.version);
  const kept: ForkContent = {
    version: state.version,
    input: content.input,
    belief: content.belief,
    inputVersion: content.inputVersion,
    beliefVersion: content.beliefVersion,
    isChanged: false,
    tasks: Array.from(state.frontier.tasks, ({ id, step }) => ({
      step,
      input: content.inputOf(id),
      version: content.versionOf(id),
    })),
  };
  const base = isOther ? convertedTo(definition!, kept, options.belief !== undefined || !hasBegun(state)) : kept;
  const converted = options.input === undefined ? base : { ...base, ...givenInput(definition!, options.input) };
  if (options.input !== undefined && options.belief === undefined) return { ...converted, isChanged: true };
  if (options.belief === undefined) return { ...converted, isChanged: converted.version !== state.version };
  const belief = definition!.parseBelief(toJson(options.belief, 'belief'));
  const isSame = canonicalJson(belief) === canonicalJson(content.belief);
  return {
    ...converted,
    belief,
    beliefVersion: definition!.version,
    isChanged: !isSame || options.input !== undefined || converted.version !== state.version,
  };
}

const givenInput = (definition: Definition, input: unknown) => ({
  input: definition.parseInput(toJson(input, 'input')),
  inputVersion: definition.version,
});

/** Throws `InvalidError` with the place that can't be converted to this version. */
function convertedTo(definition: Definition, kept: ForkContent, keepsBelief: boolean): ForkContent {
  const { version } = definition;
  const orRefuse = <T>(what: string, make: () => T): T => {
    try {
      return make();
    } catch (error) {
      const { message } = error as Error;
      const code = error instanceof ParkError ? error.code : 'version-unfit';
      throw new InvalidError(
        code,
        `version: the ${what} doesn't become one of ${definition.name} v${version}: ${message}`,
      );
    }
  };
  return {
    ...kept,
    version,
    inputVersion: version,
    beliefVersion: version,
    input: orRefuse('input', () =>
      kept.inputVersion > version
        ? definition.parseInput(kept.input)
        : upcastInput(definition, kept.inputVersion, kept.input),
    ),
    belief: keepsBelief
      ? kept.belief
      : orRefuse('belief', () =>
          kept.beliefVersion > version
            ? definition.parseBelief(kept.belief)
            : upcastBelief(definition, kept.beliefVersion, kept.belief),
        ),
    tasks: kept.tasks.map((task) =>
      orRefuse(`task of step ${task.step}`, () => {
        const { step, input } = resolveTask(definition, task.version, task.step, task.input);
        return { step: step.name, input: task.version > version ? step.parseInput(input) : input, version };
      }),
    ),
  };
}
