/** Owns the arguments and options of `tidemark admin`, and their help. Must hold no logic. */

import { type Command, Option } from '@commander-js/extra-typings';
import { duration, nameText } from '../arguments.ts';
import { MIGRATE_WAIT_MS } from '../limits.ts';
import { keyOptions } from './key-options.ts';
import type { ProgramKit } from './program-kit.ts';
import { byWhy, common, modules } from './shared-options.ts';

const archiveCommands = () => import('../commands/archive.ts');
const keysCommands = () => import('../commands/keys.ts');

const HOT_DEFAULT_MS = 7 * 86_400_000;

const WHERE = `
These work on the servers themselves (TIDEMARK_KAFKA_BROKERS and what goes with it), whether or not a coordinator runs, and need
their credentials: anyone who has those is an administrator. Or on a folder that no other process holds.`;

export function addAdmin(kit: ProgramKit): void {
  const { command, does } = kit;
  const admin = command(
    'admin',
    'maintenance that works without a coordinator, with the credentials of the servers',
  ).addHelpText('after', WHERE);
  const sub = (usage: string, what: string) =>
    common(admin.command(usage).description(what).copyInheritedSettings(admin));

  modules(kit, sub('doctor', 'check settings, servers, state and definitions, and say what to do'))
    .option('--rows', 'fold log and archive again, and report every row in use that differs')
    .action(does(() => import('../commands/doctor.ts'), 'doctor'));
  sub('migrate', "bring the cluster's tables to this version; older processes keep working, unless --contract")
    .addOption(
      new Option('--wait [time]', 'for the server, for locked tables, and for older processes to end: 90s, 5m')
        .preset(`${MIGRATE_WAIT_MS / 60_000}m`)
        .argParser(duration),
    )
    .option('--dry-run', 'print what would be applied, and change nothing')
    .option('--contract', 'also remove what only older versions need; refused while one of their processes runs')
    .action(does(() => import('../commands/migrate.ts'), 'migrate'));
  sub('rebuild', 'rebuild all rows from log and archive, and switch to them')
    .option('--from-nothing', 'discard what an interrupted rebuild has folded, instead of resuming it')
    .action(does(() => import('../commands/rebuild.ts'), 'rebuild'));
  modules(
    kit,
    sub('preflight', 'check every open workflow against a new build, before it is rolled out; changes nothing'),
  ).action(does(() => import('../commands/preflight.ts'), 'preflight'));
  sub('compact', 'archive what is old enough now: write segments, verify them, trim the log')
    .addOption(
      new Option('--older-than <time>', 'closed workflows stay so long in log and rows: 90s, 30m, 24h, 7d')
        .default(HOT_DEFAULT_MS, '7d')
        .argParser(duration),
    )
    .action(does(archiveCommands, 'compact'));
  sub('verify', 'read all archived segments and prove that nothing was changed, removed or reordered')
    .option('--workflow <id>', 'only the partition that this run is in')
    .action(does(archiveCommands, 'verify'));
  sub('restore', 'restore the history of an archived run')
    .argument('<id>', 'id of the run')
    .action(does(archiveCommands, 'restore'));
  sub('install-embedder', 'set up a small sentence model on this machine, for recall by meaning (500 MB)')
    .argument('[folder]', 'where to (default: your own folder of data, where it is found by itself)')
    .action(does(() => import('../commands/install-embedder.ts'), 'installEmbedderHere'));
  addKeys(admin, does);
  const access = admin
    .command('access')
    .description('give somebody access')
    .copyInheritedSettings(admin)
    .helpCommand(false);
  keyOptions(
    common(
      access
        .command('create-key')
        .description('make an API key, such as the first one, with which tidemark login logs in')
        .copyInheritedSettings(access),
    ),
  ).action(does(() => import('../commands/first-key.ts'), 'createFirstKey'));
}

function addKeys(admin: Command, does: ProgramKit['does']): void {
  const parent = admin
    .command('keys')
    .description('show which keys protect history, and wrap data keys again')
    .copyInheritedSettings(admin)
    .helpCommand(false);
  const sub = (usage: string, what: string, isDefault = false) =>
    common(parent.command(usage, { isDefault }).description(what).copyInheritedSettings(parent));
  sub('show', 'how many data keys each key has wrapped', true).action(does(keysCommands, 'keysShow'));
  sub('begin', 'encrypt what is written to a folder from now on, with the key of TIDEMARK_KEYS_URL').action(
    does(keysCommands, 'keysBegin'),
  );
  sub('rotate', 'add a key to each key file, which wraps from now on').action(does(keysCommands, 'keysRotate'));
  sub('rewrap', 'wrap with the current key what older ones wrapped').action(does(keysCommands, 'keysRewrap'));
  const forget = common(
    admin
      .command('forget')
      .description('destroy the keys of a run or of a user: what they said can never be read again')
      .copyInheritedSettings(admin),
  )
    .option('--workflow <id>', 'the run to forget; it must have ended')
    .option('--user <name>', 'the user to forget: their runs, and what is remembered of them')
    .option('--tenant <name>', 'whose it is (default: default)', nameText);
  byWhy(forget, 'the certificate').action(does(keysCommands, 'forgetForGood'));
}
