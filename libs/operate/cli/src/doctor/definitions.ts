/** Owns the check of definitions: what works, and has a consequence that its author should know before it runs. */

import { messageOf } from '@tidemark/core';
import { exitCodeOf } from '@tidemark/host/exit-codes';
import { isWorkflow, readDefinitions } from '../definitions.ts';
import { counted } from '../text/units.ts';
import { type Finding, fail, ok } from './finding.ts';

/** `named`: modules; none: nothing is looked at. */
export async function checkDefinitions(named: readonly string[], cwd: string): Promise<readonly Finding[]> {
  if (named.length === 0) return [];
  try {
    const definitions = (await readDefinitions(named, cwd)).filter(isWorkflow);
    const found = definitions.flatMap(({ name, warnings }) =>
      warnings.map((warning) => ({ line: `${name}: ${warning.message}`, json: { definition: name, ...warning } })),
    );
    const count = counted(definitions.length, 'workflow');
    if (found.length === 0) return [ok('Advice', `${count}, and nothing to say of them`)];
    const remedy = 'Change what each names, or leave it as it is if that is meant.';
    return [{ check: 'Advice', level: 'warn', message: `${count}; to know before they run:`, found, remedy }];
  } catch (error) {
    return [fail('Advice', messageOf(error), 'Correct the module, or name another one.', exitCodeOf(error))];
  }
}
