/**
 * Owns the first step of a workflow that was opened where the definition's code isn't loaded: it runs `begin` as the opening would have.
 */

import { InvalidError, type Json, type StreamState } from '@tidemark/core';
import { DEFAULT_RETRY } from '../kernel/index.ts';
import type { Definition, StepDefinition } from './definition.ts';
import { asIs } from './own-definition.ts';
import { FatalError } from './step-errors.ts';

/** No step of a user's has this name. */
export const BEGIN_STEP = '~begin';

/** The input of its task. */
interface BeginInput {
  /** See `Beginning`. */
  readonly day: string;
}

/** Whether `begin` has run, so that there is a belief. */
export const hasBegun = ({ frontier }: Pick<StreamState, 'frontier'>): boolean =>
  frontier.tasks.find(({ step }) => step === BEGIN_STEP) === undefined;

/** Its checkpoint is staged: the steps that it adds need not wait for the log. */
export function beginStep(definition: Definition): StepDefinition {
  return {
    name: BEGIN_STEP,
    mayAdd: new Set(definition.steps.keys()),
    durability: 'staged',
    retry: DEFAULT_RETRY,
    parseInput: asIs,
    parseOutput: asIs,
    run({ input }, given) {
      const { day } = given as unknown as BeginInput;
      const begun = definition.begin(parsedOrFail(definition, input), { day });
      return { belief: () => begun.belief, next: begun.next, fragments: begun.fragments, lastAction: 'begun' };
    },
  };
}

/** What JSON Schema can't say of the input is checked only here, and no later attempt has another. */
function parsedOrFail(definition: Definition, input: Json): Json {
  try {
    return definition.parseInput(input);
  } catch (error) {
    if (error instanceof InvalidError) throw new FatalError(error.message, { cause: error });
    throw error;
  }
}
