/** Owns the commands' names, arguments and options, and their help. Must hold no logic of a command. */

import { readFileSync } from 'node:fs';
import { EXIT } from '@tidemark/host/exit-codes';
import { Argument, Command, CommanderError, Option } from 'commander';
import { nameTexts, tenantName, wholeNumber } from '../arguments.ts';
import { reportFailure, UsageError } from '../failures.ts';
import {
  CONCURRENCY_DEFAULT_COUNT,
  CONCURRENCY_MAX_COUNT,
  LIST_DEFAULT_COUNT,
  LIST_MAX_COUNT,
  PAGE_COUNT,
} from '../limits.ts';
import type { Session } from '../session.ts';
import { addAccess } from './access-program.ts';
import { addAdmin } from './admin-program.ts';
import { addBundle } from './bundle-program.ts';
import { completion, SHELLS } from './completion.ts';
import { addControl } from './control-program.ts';
import { addFiles } from './files-program.ts';
import { withFilters } from './filter-options.ts';
import { addFork } from './fork-program.ts';
import { addLifecycle, addPinning } from './lifecycle-program.ts';
import { addLogin } from './login-program.ts';
import { addMcp } from './mcp-program.ts';
import { addMemory } from './memory-program.ts';
import type { Does, ProgramKit } from './program-kit.ts';
import { addRecovery } from './recovery-program.ts';
import { addRepoState } from './repo-state-program.ts';
import { addRetention } from './retention-program.ts';
import { addSchedule } from './schedule-program.ts';
import { addShadow } from './shadow-program.ts';
import { jsonOption, places, stateOption } from './shared-options.ts';

const EXIT_CODES = `
Exit codes:
  0    all went well; for admin doctor: nothing failed
  1    the workflow failed, or waits for a person; for admin preflight: not all are safe
  64   wrong usage: an unknown command or option
  65   wrong input, or no such workflow
  66   there is nothing to work on, such as no archive to verify
  69   a server is absent or went away
  70   a fault of Tidemark's own; please report it
  74   stored data is damaged; it was left as it is
  75   a limit is reached
  77   a server doesn't know who you are, or you may not do it
  78   wrong configuration, or a folder in use
  130  ended by Ctrl-C

Commands ask the current context (tidemark login), or the server that TIDEMARK_URL names; else state is kept in .tidemark.`;

const OWN_VERSION = (
  JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { readonly version: string }
).version;

/** By default the modules of the environment, separated by commas. */
function workflows(env: Session['env']): Option {
  const names = (env.TIDEMARK_WORKFLOWS ?? '').split(',').map((name) => name.trim());
  return new Option('--workflows <modules...>', 'modules that export workflows: files, patterns or packages').default(
    names.filter((name) => name !== ''),
    'TIDEMARK_WORKFLOWS',
  );
}

/** Runs the command; resolves to its exit code. Never throws. */
export async function runCli(args: readonly string[], session: Session): Promise<number> {
  let code: number = EXIT.ok;
  const does: Does =
    (load, name) =>
    async (...given) => {
      // The last argument is commander's own.
      code = await (await load())[name](session, ...(given.slice(0, -1) as never[]));
    };
  const program = makeProgram(does, session);
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) return reportFailure(error, session.terminal, session.env);
    if (error.exitCode === 0) return EXIT.ok;
    const message = error.message.replace(/^error: /, '').replace(/\n/g, ' ');
    return reportFailure(new UsageError(usageMessage(message, error.code)), session.terminal, session.env);
  }
}

function usageMessage(message: string, code: string): string {
  // Without any command, commander shows the help and throws with a text of its own.
  if (code === 'commander.help') return 'name a command; tidemark --help lists them';
  const hint =
    /'workflow'/.test(message) && code === 'commander.missingArgument' ? ' (name it before --workflows)' : '';
  return `${message.replace(/\.$/, '')}${hint}; tidemark --help shows how`;
}

/** The most used commands: to run, and to see what runs. */
function addRunning({ command, does }: ProgramKit, env: Session['env']): void {
  command('dev', 'run workflows in this process, with state in a folder, and print what happens')
    .addOption(workflows(env))
    .addOption(stateOption())
    .option(
      '--concurrency <count>',
      'workflows run at once',
      wholeNumber(1, CONCURRENCY_MAX_COUNT),
      CONCURRENCY_DEFAULT_COUNT,
    )
    .option(
      '--port <port>',
      'of the HTTP API, on this machine alone (default: 7070, or any free one, which is said)',
      wholeNumber(0, 65_535),
    )
    .option('--otlp <url>', 'export traces to this collector (default: OTEL_EXPORTER_OTLP_ENDPOINT; else none)')
    .addOption(jsonOption())
    .action(does(() => import('../commands/dev.ts'), 'dev'));

  places(command('run', 'start a workflow, show how it goes, print its output'))
    .argument('<workflow>', 'name of the workflow')
    .option('--input <json>', 'its input: JSON, @file, or - for standard input (default: {})')
    .option('--id <id>', 'id of the run; the same id is the same run (default: a new one)')
    .option('--tenant <name>', 'whose run it is (default: default)', tenantName)
    .option('--session <id>', 'the session it is a part of: it sees what was said before')
    .option('--user <name>', 'the user it is for: its model calls see what is known of them')
    .option('--tag <name>', 'a tag by which it is found; may be repeated', nameTexts)
    .option('--timeout <time>', "cancelled after this time: '90s', '15m', '36h', '7d' (default: its definition says)")
    .option('--priority <number>', '1 is served first, 5 last (default: its definition says)', wholeNumber(1, 5))
    .addOption(workflows(env))
    .option('--detach', 'start it, print its id, and do not wait')
    .action(does(() => import('../commands/run.ts'), 'run'));

  places(withFilters(command('ls', 'list and search workflows, newest first').alias('list')))
    .option('--limit <count>', 'at most this many', wholeNumber(1, LIST_MAX_COUNT), LIST_DEFAULT_COUNT)
    .action(does(() => import('../commands/ls.ts'), 'ls'));

  places(command('show', 'show a workflow: status, belief, what it waits for and why, last checkpoint'))
    .argument('<id>', 'id of the run')
    .option('--checkpoints', 'list all checkpoints')
    .option('--effects', 'list all effects')
    .option('--events', 'list all other events: failures, signals, take-overs')
    .option('--tasks', 'list all pending tasks')
    .option('--handovers', 'list all hand-overs between phases, with the keys that came, went and stayed')
    .addOption(
      new Option('--against <sequence>', 'with --handovers: compare with this one (default: with the one before each)')
        .argParser(wholeNumber(1, Number.MAX_SAFE_INTEGER))
        .implies({ handovers: true }),
    )
    .addOption(
      new Option('--at <sequence>', 'as it was right after this checkpoint; 0: when it was opened')
        .argParser(wholeNumber(0, Number.MAX_SAFE_INTEGER))
        .conflicts(['checkpoints', 'effects', 'events', 'tasks', 'handovers', 'against']),
    )
    .addOption(workflows(env))
    .action(does(() => import('../commands/show/show.ts'), 'show'));

  places(command('watch', 'the fleet, or one run until it ends, live; where output is no terminal: line by line'))
    .argument('[id]', 'id of the run (default: all)')
    .option('--lines', 'a line for each thing that happens, also on a terminal')
    .action(does(() => import('../commands/watch.ts'), 'watch'));
}

export function makeProgram(does: Does, { terminal, env }: Session): Command {
  const program = new Command('tidemark')
    .description('Event-sourced state for fleets of long-lived AI agents.')
    .exitOverride()
    .configureOutput({
      // Errors are printed in one form, whoever finds them.
      writeErr: () => {},
      writeOut: (text) => terminal.help(text),
      outputError: () => {},
      getOutHelpWidth: () => terminal.width ?? 100,
    })
    .helpCommand(false)
    .version(OWN_VERSION, '--version', 'print the version')
    // Commands have options of that name.
    .enablePositionalOptions()
    .addHelpText('after', EXIT_CODES);
  const command = (usage: string, description: string): Command =>
    program.command(usage).description(description).copyInheritedSettings(program);
  const modules = (sub: Command): Command => sub.addOption(workflows(env));
  const kit = { command, does, modules };

  addRunning(kit, env);
  addRecovery(kit);
  addPinning(kit);
  addShadow(kit);
  addRepoState(kit);
  addFiles(kit);
  command('completion', 'print a script by which a shell completes commands and options')
    .addArgument(new Argument('<shell>', 'bash or zsh').choices([...SHELLS]))
    .action(does(async () => ({ completion: completion(program) }), 'completion'));
  addLogin(kit);
  addBundle(kit);
  addLifecycle(kit);
  places(command('approvals', 'list the questions of tasks that wait for people, the oldest first'))
    .option('--assignee <names...>', 'those of any of these only')
    .option('--mine', 'those that ask for you')
    .option('--tenant <name>', 'those of this tenant only', tenantName)
    .option('--limit <count>', 'at most this many', wholeNumber(1, LIST_MAX_COUNT), LIST_DEFAULT_COUNT)
    .action(does(() => import('../commands/approvals.ts'), 'approvals'));
  addMemory(kit);
  addMcp(kit);
  addFork(kit);
  addSchedule(kit);
  addControl(kit);
  addTrace(kit);
  addRetention(kit);
  addAccess(kit);

  places(command('du', 'show what history takes, in rows and in the archive'))
    .addOption(new Option('--by <what>', 'add up by').choices(['tenant', 'workflow']).default('tenant'))
    .option('--limit <count>', 'at most this many', wholeNumber(1, PAGE_COUNT), LIST_DEFAULT_COUNT)
    .action(does(() => import('../commands/du.ts'), 'du'));
  addAdmin(kit);
  return program;
}

const traceCommands = () => import('../commands/trace.ts');

function addTrace({ command, does }: ProgramKit): void {
  const parent = command('trace', "a run's trace, drawn from its history: show it, or export it").helpCommand(false);
  const sub = (usage: string, what: string): Command =>
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
