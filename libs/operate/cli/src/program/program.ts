/**
 * Owns which commands there are, in the order of the help, and which module does the work of each. Such a module takes the types of its
 * options from a file of options, and never from here, where it is loaded. Must hold no logic of a command.
 */

import { readFileSync } from 'node:fs';
import { Argument, Command, CommanderError, type CommandUnknownOpts, Help, Option } from '@commander-js/extra-typings';
import { InvalidError } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { collectorUrl } from '../arguments.ts';
import { addAccess } from '../commands/access.ts';
import { addApprovals } from '../commands/approvals.ts';
import { addBudget } from '../commands/budget.ts';
import { addBundle } from '../commands/bundle.ts';
import { addDecisions } from '../commands/decide.ts';
import { addDu } from '../commands/du.ts';
import { addFork } from '../commands/fork.ts';
import { addJobs } from '../commands/jobs.ts';
import { addJudging } from '../commands/judging.ts';
import { addLists } from '../commands/lists.ts';
import { addMemory, addUser } from '../commands/memory.ts';
import { addRecover } from '../commands/recover.ts';
import { addRetention } from '../commands/retention.ts';
import { addSession } from '../commands/session.ts';
import { addShadow } from '../commands/shadow.ts';
import { reportFailure, UsageError } from '../failures.ts';
import type { Session } from '../session.ts';
import { addAdmin } from './admin-program.ts';
import { completion, SHELLS } from './completion.ts';
import { crashTestCommands } from './crash-test-options.ts';
import { addDeclared, addDeclaredGroup } from './declared.ts';
import { fileCommands } from './files-options.ts';
import { loginCommands } from './login-options.ts';
import { mcpCommands } from './mcp-options.ts';
import { inWordsOf, withShortValues } from './own-words.ts';
import { type Asks, askThere, type Does, type ProgramKit } from './program-kit.ts';
import { stateCommands } from './repo-state-options.ts';
import { runningCommands } from './running-options.ts';
import { places } from './shared-options.ts';

const EXIT_CODES = `
Exit codes:
  0    all went well; for admin doctor: nothing failed
  1    the workflow failed, or waits for a person; for admin preflight: not all are safe;
       for crash-test: a call was doubled, or work lost
  64   wrong usage: an unknown command or option
  65   wrong input, or no such workflow
  66   there is nothing to work on, such as no archive to verify
  69   a server is unavailable
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

/** Runs the command; resolves to its exit code. Never throws. */
export async function runCli(args: readonly string[], session: Session): Promise<number> {
  let code: number = EXIT.ok;
  /** The command under way; commander gives it to its action as the last argument. */
  let command: CommandUnknownOpts | undefined;
  const does: Does =
    (load, name) =>
    async (...given) => {
      command = given.at(-1) as CommandUnknownOpts;
      refuseEmpty(command, given);
      code = await (await load())[name](session, ...(given.slice(0, -1) as never[]));
    };
  const asks: Asks =
    (...what) =>
    async (...given) => {
      command = given.at(-1) as CommandUnknownOpts;
      refuseEmpty(command, given);
      code = await askThere(session, what as Parameters<Asks>, given);
    };
  const program = makeProgram({ does, asks }, session);
  try {
    await program.parseAsync(args, { from: 'user' });
    return code;
  } catch (error) {
    const words = (message: string): string => withShortValues(message, args);
    if (!(error instanceof CommanderError)) {
      return reportFailure(error, session, (message) =>
        words(error instanceof InvalidError ? inWordsOf(command, error) : message),
      );
    }
    if (error.exitCode === 0) return EXIT.ok;
    const message = error.message.replace(/^error: /, '').replace(/\n/g, ' ');
    const usage = new UsageError(usageMessage(message, error.code, commandOf(program, args)));
    return reportFailure(usage, session, words);
  }
}

/** An empty id would make the address of another route. Throws `InvalidError` (`argument-empty`). */
function refuseEmpty({ registeredArguments }: CommandUnknownOpts, given: readonly unknown[]): void {
  const empty = registeredArguments.find(
    (each, at) => each.name() !== 'value' && [given[at]].flat().some((text) => text === ''),
  );
  if (empty !== undefined) throw new InvalidError('argument-empty', `<${empty.name()}>: Give at least 1 character.`);
}

/** `tidemark retention set`: the arguments that name a command; and whether it is a group of commands. */
function commandOf(program: CommandUnknownOpts, args: readonly string[]) {
  const words = ['tidemark'];
  let at: CommandUnknownOpts = program;
  for (const arg of args) {
    const found = at.commands.find((each) => each.name() === arg || each.aliases().includes(arg));
    if (found === undefined) break;
    at = found;
    words.push(arg);
  }
  return { command: words.join(' '), isGroup: at.commands.length > 0 };
}

function usageMessage(message: string, code: string, { command, isGroup }: ReturnType<typeof commandOf>): string {
  // The default command of a group takes what names none of its commands.
  const unknown = isGroup && code === 'commander.excessArguments' ? / but got \d+: ([^,]*)/.exec(message) : null;
  if (unknown !== null) return `unknown command '${unknown[1]}'; ${command} --help lists them`;
  // Without any command, commander shows the help and throws with a text of its own.
  if (code === 'commander.help') return `name a command; ${command} --help lists them`;
  const hint =
    /'workflow'/.test(message) && code === 'commander.missingArgument' ? ' (name it before --workflows)' : '';
  const said = message.replace(
    /^command-argument value '(.*)' is invalid for argument '([^']*)'\./,
    "<$2> can't be '$1'.",
  );
  return `${said.replace(/\.$/, '')}${hint}; ${command} --help shows how`;
}

function addRunning(kit: ProgramKit): void {
  const { does } = kit;
  const { dev, run, ls, show, watch } = runningCommands(kit);
  dev.action(does(() => import('../commands/dev.ts'), 'dev'));
  run.action(does(() => import('../commands/run.ts'), 'run'));
  ls.action(does(() => import('../commands/ls.ts'), 'ls'));
  show.action(does(() => import('../commands/show/show.ts'), 'show'));
  watch.action(does(() => import('../commands/watch.ts'), 'watch'));
}

function addRepoState(kit: ProgramKit): void {
  const { init, checkpoint, resume, show, update, complete, migrate } = stateCommands(kit);
  const { does } = kit;
  const load = () => import('../commands/repo-state.ts');
  init.action(does(load, 'stateInit'));
  checkpoint.action(does(load, 'stateCheckpoint'));
  resume.action(does(load, 'stateResume'));
  show.action(does(load, 'stateShow'));
  update.action(does(load, 'stateUpdate'));
  complete.action(does(load, 'stateComplete'));
  migrate.action(does(load, 'stateMigrate'));
}

function addFiles(kit: ProgramKit): void {
  const { export: once, mirror, import: taken } = fileCommands(kit);
  const load = () => import('../commands/files.ts');
  once.action(kit.does(load, 'filesExport'));
  mirror.action(kit.does(load, 'filesMirror'));
  taken.action(kit.does(load, 'filesImport'));
}

function addLogin(kit: ProgramKit): void {
  const { login, logout, whoami, list, use } = loginCommands(kit);
  const { does } = kit;
  const load = () => import('../commands/login.ts');
  login.action(does(load, 'login'));
  logout.action(does(load, 'logout'));
  whoami.action(does(load, 'whoami'));
  list.action(does(load, 'listContexts'));
  use.action(does(load, 'useContext'));
}

/** With the options that it can't do without. */
function usageOf(command: CommandUnknownOpts): string {
  const needed = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  if (command.options.some(({ long }) => long === '--about')) needed.push('(--user <name> | --about <subject>)');
  return [new Help().commandUsage(command), ...needed].join(' ');
}

export function makeProgram(work: Pick<ProgramKit, 'does' | 'asks'>, { terminal, env, cwd, stdin }: Session): Command {
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
    .configureHelp({ commandUsage: usageOf })
    .helpCommand(false)
    .version(OWN_VERSION, '--version', 'print the version')
    // Commands have options of that name.
    .enablePositionalOptions()
    .addHelpText('after', EXIT_CODES);
  const command = (usage: string, description: string) =>
    program.command(usage).description(description).copyInheritedSettings(program).helpCommand(false);
  const kit = { ...work, command, env, cwd, stdin };

  addRunning(kit);
  addRecover(kit);
  addDecisions(kit);
  addDeclared(kit, 'pin');
  addDeclared(kit, 'unpin');
  addShadow(kit);
  crashTestCommands(kit).crashTest.action(work.does(() => import('../commands/crash-test.ts'), 'crashTestCommand'));
  addRepoState(kit);
  addFiles(kit);
  command('completion', 'print a script by which a shell completes commands and options')
    .addArgument(new Argument('<shell>', 'bash or zsh').choices([...SHELLS]))
    .action(work.does(async () => ({ completion: completion(program) }), 'completion'));
  addLogin(kit);
  addBundle(kit);
  for (const name of ['cancel', 'terminate', 'pause', 'resume']) addDeclared(kit, name);
  addJudging(kit);
  addApprovals(kit);
  addSession(kit);
  addMemory(kit);
  addUser(kit);
  addBudget(kit);
  mcpCommands(kit).mcp.action(work.does(() => import('../commands/mcp.ts'), 'mcp'));
  addFork(kit);
  addDeclared(kit, 'reset');
  addDeclaredGroup(
    kit,
    'schedule',
    'start runs of a workflow at the times of a cron pattern; tidemark pause, resume and cancel work on a schedule as on a run',
  );
  addJobs(kit);
  addDeclaredGroup(kit, 'queues', 'work that waits, by workflow; pause and resume all of one');
  addLists(kit);
  addDeclared(kit, 'leases');
  addDeclaredGroup(kit, 'signals', 'the signals of a workflow that no step has read');
  addTrace(kit);
  addRetention(kit);
  addAccess(kit);

  addDu(kit);
  addAdmin(kit);
  return program;
}

const traceCommands = () => import('../commands/trace.ts');

function addTrace({ command, does }: ProgramKit): void {
  const parent = command('trace', "a run's trace, drawn from its history: show it, or export it");
  const sub = (usage: string, what: string) =>
    places(parent.command(usage).description(what).copyInheritedSettings(parent))
      .argument('<workflow>', 'id of the run')
      .option('--content', 'with requests and answers of models, tools and effects');
  sub('show', 'show the trace as a tree, with times')
    .option('--all', 'list every span, also those that are alike')
    .action(does(traceCommands, 'traceShow'));
  sub('export', 'export the trace by OTLP: the same ids and spans as the live export')
    .option(
      '--otlp <url>',
      'to this collector, such as http://localhost:4318 (default: OTEL_EXPORTER_OTLP_ENDPOINT)',
      collectorUrl,
    )
    .addOption(new Option('--file <file>', 'into this file, as OTLP JSON; - for standard output').conflicts('otlp'))
    .option('--open', 'also spans that have not ended, up to the last event')
    .action(does(traceCommands, 'traceExport'));
}
