/** Owns the arguments and options of `compact`, `verify`, `restore` and `du`, and their help. Must hold no logic. */

import { Option } from 'commander';
import { duration, wholeNumber } from '../arguments.ts';
import {
  type ArchiveOptions,
  type CompactOptions,
  compact,
  type DuOptions,
  du,
  restore,
  type VerifyOptions,
  verify,
} from './archive.ts';
import type { ProgramKit } from './program-kit.ts';
import { limited } from './shared-options.ts';

const HOT_DEFAULT_MS = 7 * 86_400_000;

export function addArchive({ command, does, common }: ProgramKit): void {
  common(command('compact', 'archive what is old enough now: write segments, verify them, trim the log'))
    .addOption(
      new Option('--older-than <time>', 'closed workflows stay so long in log and rows: 90s, 30m, 24h, 7d')
        .default(HOT_DEFAULT_MS, '7d')
        .argParser(duration),
    )
    .option('--mb-per-s <count>', 'move no more than so many MB a second', wholeNumber(1, 10_000))
    .action(does<[CompactOptions]>(compact));
  common(command('verify', 'read all archived segments and prove that nothing was changed, removed or reordered'))
    .option('--workflow <id>', 'only the partition that this run is in')
    .action(does<[VerifyOptions]>(verify));
  common(command('restore', 'bring the history of an archived run back into rows'))
    .argument('<id>', 'id of the run')
    .action(does<[string, ArchiveOptions]>(restore));
  const size = common(command('du', 'tell what history takes, in rows and in the archive'));
  limited(
    size.addOption(new Option('--by <what>', 'add up by').choices(['tenant', 'workflow']).default('tenant')),
  ).action(does<[DuOptions]>(du));
}
