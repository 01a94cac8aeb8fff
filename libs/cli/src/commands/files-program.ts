/** Owns the arguments and options of `tidemark files`, and their help. Must hold no logic of a command. */

import { type Command, Option } from 'commander';
import type { Session } from '../session.ts';
import { filesExport, filesImport, filesMirror, type ImportOptions, type ShownOptions } from './files.ts';

type Perform<Options> = (session: Session, folder: string, options: Options) => Promise<number>;

/** What the program gives to those who add commands to it. */
export interface FilesKit {
  readonly does: <Options>(
    command: Perform<Options>,
  ) => (folder: string, options: Options, self: Command) => Promise<void>;
  readonly listed: <T extends { readonly workflows?: readonly string[] | undefined }>(options: T) => T;
  readonly common: (command: Command) => Command;
}

/** Adds the subcommands. */
export function addFiles(files: Command, { does, listed, common }: FilesKit): void {
  const command = (name: string, description: string): Command =>
    common(
      files.command(name).description(description).copyInheritedSettings(files).argument('<folder>', 'of the files'),
    );
  for (const [name, description, perform] of [
    ['export', 'write the files of a run once', filesExport],
    ['mirror', 'keep the files what the run is, until Ctrl-C; what others write to them comes back', filesMirror],
  ] as const) {
    command(name, description)
      .addOption(new Option('--run <id>', 'of this run').conflicts('newest'))
      .addOption(new Option('--newest <workflow>', 'of the newest run of this workflow, and of each that follows it'))
      .option('--tenant <name>', 'whose workflow --newest means (default: default)')
      .action((folder: string, options: ShownOptions, self: Command) =>
        does<ShownOptions>(perform)(folder, listed(options), self),
      );
  }
  command('import', 'start a run of a pipeline in which the steps that the files call completed are done')
    .requiredOption('--as <pipeline>', 'the pipeline, from the given modules')
    .option('--id <id>', 'id of the run (default: the pipeline_id of the files)')
    .option('--tenant <name>', 'whose run it is (default: default)')
    .option('--input <json>', 'its input: JSON, @file, or - for standard input (default: {})')
    .action((folder: string, options: ImportOptions, self: Command) =>
      does<ImportOptions>(filesImport)(folder, listed(options), self),
    );
}
