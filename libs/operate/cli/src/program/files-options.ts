/** Owns the arguments and options of `tidemark files`, and their help. Must hold no logic of a command. */

import { Option } from '@commander-js/extra-typings';
import { repeated } from '../arguments.ts';
import type { OptionsIn, ProgramKit } from './program-kit.ts';
import { modules, places } from './shared-options.ts';

export function fileCommands(kit: ProgramKit) {
  const { command: add } = kit;
  const files = add('files', 'a workflow as plain files that agents and shell scripts read and write');
  const command = (name: string, description: string) =>
    modules(
      kit,
      places(
        files.command(name).description(description).copyInheritedSettings(files).argument('<folder>', 'of the files'),
      ),
    ).option('--outputs <folder>', 'outputs may lie in this folder too; may be repeated', repeated);
  const shown = (name: string, description: string) =>
    command(name, description)
      .addOption(new Option('--run <id>', 'of this run').conflicts('newest'))
      .addOption(new Option('--newest <workflow>', 'of the newest run of this workflow, and of each that follows it'))
      .option('--tenant <name>', 'whose workflow --newest means (default: yours, or default)');
  return {
    export: shown('export', 'write the files of a run once'),
    mirror: shown(
      'mirror',
      'keep the files in step with the run, until Ctrl-C; what others write to them goes to the run',
    ),
    import: command('import', 'start a run of a pipeline in which the steps that the files call completed are done')
      .requiredOption('--as <pipeline>', 'the pipeline, from the given modules')
      .option('--id <id>', 'id of the run (default: the pipeline_id of the files)')
      .option('--tenant <name>', 'whose run it is (default: default)')
      .option('--input <json>', 'its input: JSON, @file, or - for standard input (default: {})'),
  };
}

export type FilesOptions = OptionsIn<typeof fileCommands>;
