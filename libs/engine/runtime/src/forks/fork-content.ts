/**
 * Owns what a fork begins with: input, belief and inputs of tasks as they were at the checkpoint, or as they become for the version or the
 * belief that is given, checked by a definition that is known here. Pure.
 */

import { canonicalJson, type ForkOrigin, toJson } from '@tidemark/codec';
import { InvalidError, type Json, type StreamState } from '@tidemark/core';
import { type Definition, ParkError } from '../definition/index.ts';
import { definitionFor, type PastWorkflow, resolveTask, upcastBelief, upcastInput } from '../history/index.ts';

export interface GivenContent {
  /** In place of the belief at the checkpoint; checked by the definition. */
  readonly belief?: unknown;
  /** It runs with exactly this version; absent: with that which the base had reached, or what can go on with it. */
  readonly version?: number | undefined;
  /** What is known here: a belief or a version that is given must be checked by one of them. */
  readonly definitions?: readonly Definition[] | undefined;
}

/** The definition that checks what is given; undefined: nothing is, and none is known. */
export function chosenDefinition(state: StreamState, options: GivenContent): Definition | undefined {
  const { version, belief, definitions = [] } = options;
  const named = definitions.filter(({ name }) => name === state.definition);
  const wanted = version ?? state.version;
  const found =
    named.find((one) => one.version === wanted) ?? (version === undefined ? definitionFor(named, state) : undefined);
  if (found !== undefined) return found;
  if (named.length === 0 && version === undefined && belief === undefined) return undefined;
  const known = named.map((one) => `v${one.version}`).join(', ') || 'none of that name';
  const field = version === undefined ? (belief === undefined ? 'version' : 'belief') : 'version';
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
  /** By order of creation. */
  readonly tasks: readonly { readonly step: string; readonly input: Json; readonly version: number }[];
}

/** What was there, or what it becomes for the version that is chosen. */
export function contentOf(past: PastWorkflow, definition: Definition | undefined, options: GivenContent): ForkContent {
  const { state, content } = past;
  const isOther =
    options.version !== undefined || (options.belief !== undefined && definition!.version !== state.version);
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
  const converted = isOther ? convertedTo(definition!, kept, options.belief !== undefined) : kept;
  if (options.belief === undefined) return { ...converted, isChanged: converted.version !== state.version };
  const belief = definition!.parseBelief(toJson(options.belief, 'belief'));
  const isSame = canonicalJson(belief) === canonicalJson(content.belief);
  return {
    ...converted,
    belief,
    beliefVersion: definition!.version,
    isChanged: !isSame || converted.version !== state.version,
  };
}

/** Throws `InvalidError` with the place that doesn't become one of this version. */
function convertedTo(definition: Definition, kept: ForkContent, isGiven: boolean): ForkContent {
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
    belief: isGiven
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
