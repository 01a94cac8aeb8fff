/** Owns the options of `migrate`, and their help. Must hold no logic. */

import { Option } from 'commander';
import { duration } from '../arguments.ts';
import { MIGRATE_WAIT_MS } from '../limits.ts';
import { type MigrateCommandOptions, migrate } from './migrate.ts';
import type { ProgramKit } from './program-kit.ts';

export function addMigrate({ command, does, common }: ProgramKit): void {
  common(command('migrate', "bring the cluster's tables to this version; older processes go on, unless --contract"))
    .addOption(
      new Option('--wait [time]', 'for the server, for locked tables, and for older processes to end: 90s, 5m')
        .preset(`${MIGRATE_WAIT_MS / 60_000}m`)
        .argParser(duration),
    )
    .option('--dry-run', 'tell what would be applied, and change nothing')
    .option('--contract', 'also take away what only older versions need; refused while one of their processes is there')
    .action(does<[MigrateCommandOptions]>(migrate));
}
