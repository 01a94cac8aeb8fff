/** Owns the arguments and options of `retention`, and their help. Must hold no logic. */

import { Option } from 'commander';
import { duration, tenantName } from '../arguments.ts';
import type { ProgramKit } from './program-kit.ts';
import { places, why } from './shared-options.ts';

const retentionCommands = () => import('../commands/retention.ts');

const FOREVER = 'forever';

export function addRetention({ command, does }: ProgramKit): void {
  const parent = command('retention', 'how long a tenant’s archived history is kept, and what is held').helpCommand(
    false,
  );
  const sub = (usage: string, what: string, isDefault = false) =>
    places(parent.command(usage, { isDefault }).description(what).copyInheritedSettings(parent)).option(
      '--tenant <name>',
      'whose it is (default: default)',
      tenantName,
    );
  sub('show', 'the tenant’s policy and its holds', true).action(does(retentionCommands, 'retentionShow'));
  sub('set', 'give the tenant a policy of its own')
    .addOption(new Option('--warm <time>', 'then segments move to the cold store: 30d').argParser(duration))
    .addOption(
      new Option('--keep <time>', `then they are deleted permanently: 365d, or ${FOREVER}`).argParser((text: string) =>
        text === FOREVER ? null : duration(text),
      ),
    )
    .option('--default', 'that of the compactors again')
    .action(does(retentionCommands, 'retentionSet'));
  const hold = sub('hold', 'keep a run, or all of the tenant’s, whatever its policy says')
    .argument('<id>', 'name of the hold')
    .option('--workflow <id>', 'the run; without it all of the tenant’s');
  why(hold, 'the hold').action(does(retentionCommands, 'retentionHold'));
  sub('release', 'let the policy decide again')
    .argument('<id>', 'name of the hold')
    .action(does(retentionCommands, 'retentionRelease'));
}
