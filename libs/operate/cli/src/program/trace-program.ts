/** Owns the arguments and options of `trace`, and their help. Must hold no logic. */

import { Option } from '@commander-js/extra-typings';
import type { ProgramKit } from './program-kit.ts';
import { places } from './shared-options.ts';

const traceCommands = () => import('../commands/trace.ts');

export function addTrace({ command, does }: ProgramKit): void {
  const parent = command('trace', "a run's trace, drawn from its history: show it, or export it").helpCommand(false);
  const sub = (usage: string, what: string) =>
    places(parent.command(usage).description(what).copyInheritedSettings(parent))
      .argument('<workflow>', 'id of the run')
      .option('--content', 'with requests and answers of models, tools and effects');
  sub('show', 'show the trace as a tree, with times')
    .option('--all', 'list every span, also those that are alike')
    .action(does(traceCommands, 'traceShow'));
  sub('export', 'export the trace by OTLP: the same ids and spans as the live export')
    .option('--otlp <url>', 'to this collector, such as http://localhost:4318 (default: OTEL_EXPORTER_OTLP_ENDPOINT)')
    .addOption(new Option('--file <file>', 'into this file, as OTLP JSON; - for standard output').conflicts('otlp'))
    .option('--open', 'also spans that have not ended, up to the last event')
    .action(does(traceCommands, 'traceExport'));
}
