/** Owns the check of definitions for what works, but has a consequence that its author should know before it runs. */

import { messageOf } from '@tidemark/core';
import { exitCodeOf } from '@tidemark/host/exit-codes';
import { type Definition, unlistedWarnings } from '@tidemark/runtime';
import type { DefinitionWarning } from '@tidemark/sdk';
import { isWorkflow, readDefinitions } from '../definitions.ts';
import { counted } from '../text/units.ts';
import { definitionPlaces, type Locate } from './definition-places.ts';
import { type Finding, fail, foundAt, ok } from './finding.ts';

export interface CheckedDefinitions {
  readonly findings: readonly Finding[];
  /** The page that advice about a definition points to. */
  readonly locate: Locate;
}

const NOWHERE: Locate = () => undefined;

/** Bundles that carry what other phases said: their definition wants it, and its prompts are longer than their phase. */
export function sharedBundles(context: Definition['context']): readonly DefinitionWarning[] {
  if (context === undefined || context.phases.size < 2) return [];
  return [...context.bundles.values()]
    .filter(({ phases }) => phases === 'all')
    .map(({ type }) => ({
      code: 'bundle-of-all-phases',
      subject: type,
      message: `Bundle ${type} carries messages, calls and results of every phase (phases: 'all'). Leave it out, and hand over what the next phase needs.`,
    }));
}

/** `named`: modules; none: nothing is checked. */
export async function checkDefinitions(named: readonly string[], cwd: string): Promise<CheckedDefinitions> {
  if (named.length === 0) return { findings: [], locate: NOWHERE };
  try {
    const definitions = (await readDefinitions(named, cwd)).filter(isWorkflow);
    const locate = await definitionPlaces(named, cwd);
    const unlisted = unlistedWarnings(definitions);
    const found = [
      ...definitions.flatMap(({ name, warnings, context }) =>
        [...warnings, ...sharedBundles(context)].map((warning) => foundAt({ definition: name, ...warning }, locate)),
      ),
      ...unlisted.map((message) => ({ line: message, json: { code: 'effect-without-probe', message } })),
    ];
    const count = counted(definitions.length, 'workflow');
    if (found.length === 0) return { findings: [ok('Advice', `${count}, without a warning`)], locate };
    const remedy = 'Change what each names, or leave it as it is if that is meant.';
    const message = `${count}; to know before they run:`;
    return { findings: [{ check: 'Advice', level: 'warn', message, found, remedy }], locate };
  } catch (error) {
    const remedy = 'Correct the module, or name another one.';
    return { findings: [fail('Advice', messageOf(error), remedy, exitCodeOf(error))], locate: NOWHERE };
  }
}
