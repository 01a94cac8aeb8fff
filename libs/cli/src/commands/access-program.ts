/** Owns the arguments and options of `access` and `audit`, and their help. Must hold no logic. */

import { ROLES } from '@tidemark/ports';
import { Option } from 'commander';
import { duration, tenantName, wholeNumber } from '../arguments.ts';
import { AUDIT_SHOWN_COUNT, AUDIT_SHOWN_MAX_COUNT } from '../limits.ts';
import {
  type AuditOptions,
  audit,
  type ByOptions,
  type ByWhyOptions,
  type CreateKeyOptions,
  createKey,
  createTenant,
  type ListKeysOptions,
  listKeys,
  listTenants,
  resumeTenant,
  revokeKey,
  suspendTenant,
} from './access.ts';
import type { MemoryOptions } from './memory-place.ts';
import type { ProgramKit } from './program-kit.ts';
import { byWhy } from './shared-options.ts';

const NEVER = 'never';

export function addAccess({ command, does, common }: ProgramKit): void {
  const parent = command('access', 'who is let in over HTTP: API keys and tenants').helpCommand(false);
  const sub = (usage: string, what: string) =>
    common(parent.command(usage).description(what).copyInheritedSettings(parent));
  const by = (usage: string, what: string) => sub(usage, what).requiredOption('--by <name>', 'who decides it');
  const decided = (usage: string, what: string) => byWhy(sub(usage, what), 'it');
  by('create-key', 'make an API key, and tell it this once')
    .requiredOption('--name <text>', 'what it is for')
    .addOption(
      new Option('--role <role...>', 'what it may do; may be given more than once')
        .choices([...ROLES])
        .makeOptionMandatory(),
    )
    .option('--tenant <name>', 'whose workflows it is for (default: default)', tenantName)
    .option('--all-tenants', 'for those who run the whole')
    .addOption(
      new Option('--expires <time>', `when it ends, from now on: 30d, or ${NEVER} (default: 90d)`).argParser(
        (text: string) => (text === NEVER ? null : duration(text)),
      ),
    )
    .action(does<[CreateKeyOptions]>(createKey));
  sub('list-keys', 'the keys, without their secrets')
    .option('--tenant <name>', 'of this tenant alone (default: all)', tenantName)
    .option('--all', 'revoked ones as well')
    .action(does<[ListKeysOptions]>(listKeys));
  decided('revoke-key', 'let nobody in by this key any more')
    .argument('<id>', 'id of the key')
    .action(does<[string, ByWhyOptions]>(revokeKey));
  sub('tenants', 'the tenants that were created or suspended').action(does<[MemoryOptions]>(listTenants));
  by('create-tenant', 'write a tenant down')
    .argument('<name>', 'its name')
    .action(does<[string, ByOptions]>(createTenant));
  decided('suspend-tenant', 'let nobody of the tenant in; its workflows go on')
    .argument('<name>', 'its name')
    .action(does<[string, ByWhyOptions]>(suspendTenant));
  decided('resume-tenant', 'let a suspended tenant in again')
    .argument('<name>', 'its name')
    .action(does<[string, ByWhyOptions]>(resumeTenant));

  common(command('audit', 'who read and did what over HTTP, the newest first'))
    .option('--tenant <name>', 'whose workflows (default: default)', tenantName)
    .option('--subject <name>', 'by this one: key:ID or token:SUBJECT')
    .option('--action <name>', 'of this kind: the name of the operation, such as getWorkflow')
    .option('--target <id>', 'to this workflow or key')
    .addOption(new Option('--outcome <outcome>', 'how it went').choices(['done', 'refused', 'failed']))
    .option('--since <time>', 'not longer ago: 24h', duration)
    .option('--limit <count>', 'at most this many', wholeNumber(1, AUDIT_SHOWN_MAX_COUNT), AUDIT_SHOWN_COUNT)
    .action(does<[AuditOptions]>(audit));
}
