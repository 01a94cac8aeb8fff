/** Owns the arguments and options of `access` and `audit`, and their help. Must hold no logic. */

import { Option } from 'commander';
import { duration, tenantName, wholeNumber } from '../arguments.ts';
import { AUDIT_SHOWN_COUNT, AUDIT_SHOWN_MAX_COUNT } from '../limits.ts';
import { keyOptions } from './key-options.ts';
import type { ProgramKit } from './program-kit.ts';
import { by, places, why } from './shared-options.ts';

const accessCommands = () => import('../commands/access.ts');

export function addAccess({ command, does }: ProgramKit): void {
  const parent = command('access', 'who is let in over HTTP: API keys and tenants').helpCommand(false);
  const sub = (usage: string, what: string) =>
    places(parent.command(usage).description(what).copyInheritedSettings(parent));
  const decided = (usage: string, what: string) => why(sub(usage, what), 'it');
  keyOptions(by(sub('create-key', 'create an API key, and print it this once'))).action(
    does(accessCommands, 'createKey'),
  );
  sub('list-keys', 'the keys, without their secrets')
    .option('--tenant <name>', 'of this tenant alone (default: all that you may see)', tenantName)
    .option('--all', 'revoked ones as well')
    .action(does(accessCommands, 'listKeys'));
  decided('revoke-key', 'let nobody in by this key any more')
    .argument('<id>', 'id of the key')
    .action(does(accessCommands, 'revokeKey'));
  sub('tenants', 'the tenants that were created or suspended').action(does(accessCommands, 'listTenants'));
  by(sub('create-tenant', 'write a tenant down'))
    .argument('<name>', 'its name')
    .action(does(accessCommands, 'createTenant'));
  decided('suspend-tenant', 'let nobody of the tenant in; its workflows keep running')
    .argument('<name>', 'its name')
    .action(does(accessCommands, 'suspendTenant'));
  decided('resume-tenant', 'let a suspended tenant in again')
    .argument('<name>', 'its name')
    .action(does(accessCommands, 'resumeTenant'));

  places(command('audit', 'who read and did what over HTTP, the newest first'))
    .option('--tenant <name>', 'whose workflows (default: your own, else default)', tenantName)
    .option('--subject <name>', 'by this one: key:ID or token:SUBJECT')
    .option('--action <name>', 'of this kind: the name of the operation, such as getWorkflow')
    .option('--target <id>', 'to this workflow or key')
    .addOption(new Option('--outcome <outcome>', 'how it went').choices(['done', 'refused', 'failed']))
    .option('--since <time>', 'not longer ago: 24h', duration)
    .option('--limit <count>', 'at most this many', wholeNumber(1, AUDIT_SHOWN_MAX_COUNT), AUDIT_SHOWN_COUNT)
    .action(does(accessCommands, 'audit'));
}
