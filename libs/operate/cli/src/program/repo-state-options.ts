/** Owns the arguments and options of `tidemark state …`, and their help. Must hold no logic. */

import { type Command, InvalidArgumentError, Option, type OptionValues } from '@commander-js/extra-typings';
import { duration, repeated, wholeNumber } from '../arguments.ts';
import type { OptionsIn, ProgramKit } from './program-kit.ts';

/** Longest time-out of a stage's check, in milliseconds: timers hold no more than 24 days. */
const CHECK_TIMEOUT_MAX_MS = 24 * 3_600_000;

const AFTER = `
A state is .workflow-state/NAME-state.json in the repository, or in --dir. Several agents may write the same one at once:
nothing is lost. Secrets are refused. A check is a command; its stage is done only when it passes.`;

export function stateCommands({ command: add }: ProgramKit) {
  const state = add('state', 'keep the state of a workflow in a file of the repository, without a server');
  state.addHelpText('after', AFTER);
  const command = (name: string, description: string) =>
    state
      .command(name)
      .description(description)
      .copyInheritedSettings(state)
      .option('--dir <folder>', 'the place of the state (default: the git repository that this folder is in)')
      .addOption(new Option('--json', 'print JSON for programs, and nothing else'));

  const init = planned(command('init', 'begin a workflow with its stages'))
    .argument('<name>', 'name of the workflow')
    .option('--shared', 'let git see the state, so that it can be committed (default: it is ignored)')
    .option('--version <number>', 'version of the workflow (default: 1)', aNumber)
    .option('--note <text>', 'something to know')
    .addOption(agent());

  const checkpoint = command('checkpoint', 'record how stages ended, and keep evidence, artifacts and notes')
    .argument('<name>', 'name of the workflow')
    .argument('[stages...]', 'ids of the stages')
    .addOption(new Option('--start', 'they are in progress').conflicts(['done', 'fail', 'reset']))
    .addOption(new Option('--done', 'they are done; checks run first').conflicts(['fail', 'reset']))
    .addOption(new Option('--fail', 'they failed').conflicts('reset'))
    .option('--reset', 'they are to be done again')
    .option('--check <command>', 'a command that must pass before they count as done, from now on')
    .option('--check-timeout <time>', 'how long a check may take: 90s, 30m, 2h (default: 10m)', checkTimeout)
    .option('--evidence <json>', 'what shows it: text, a JSON object, @file, or - for standard input')
    .option('--artifact <name=value>', 'something that was made, such as a path; may be repeated', collect)
    .option('--note <text>', 'something to know')
    .addOption(agent())
    .option(
      '--every <number>',
      'write the file after this many stages became done; until then they wait beside it',
      aNumber,
    )
    .option('--add', 'add stages that the state does not have')
    .option('--take', 'take over a stage that another agent has in progress');

  const resume = planned(command('resume', 'print from which stage to resume, and repair what can be'))
    .argument('<name>', 'name of the workflow')
    .option('--choose <number>', 'which of equally new states counts', aNumber)
    .option('--version <number>', 'the version that is expected: another one is refused', aNumber);

  const show = command('show', 'show a state, or name all of them; changes nothing').argument(
    '[name]',
    'name of the workflow',
  );

  const update = command(
    'update',
    'join a JSON merge patch to a state that several agents share: fields of your own, artifacts, notes',
  )
    .argument('<name>', 'name of the workflow')
    .argument('<patch>', 'a JSON object, in which null removes a field; @file, or - for standard input');

  const complete = command('complete', 'put a finished state into the archive')
    .argument('<name>', 'name of the workflow')
    .option('--open', 'also when stages are not done');

  const migrate = planned(command('migrate', 'bring a state to a newer version of its workflow; the old file is kept'))
    .argument('<name>', 'name of the workflow')
    .requiredOption('--to <number>', 'the new version', aNumber)
    .option('--rename <old=new>', 'another id for a stage; may be repeated', collect);
  return { init, checkpoint, resume, show, update, complete, migrate };
}

export type StateOptions = OptionsIn<typeof stateCommands>;

const planned = <A extends unknown[], O extends OptionValues>(command: Command<A, O>) =>
  command
    .option('--stages <ids...>', 'ids of the stages in order, separated by spaces or commas')
    .option(
      '--check <stage=command>',
      'a command that must pass before the stage counts as done; may be repeated',
      collect,
    );

const agent = () => new Option('--agent <name>', 'who does it (default: TIDEMARK_AGENT)');

/** Of a version, or of one of several. */
const aNumber = wholeNumber(1, 999_999_999);

function checkTimeout(text: string): number {
  const ms = duration(text);
  if (ms <= CHECK_TIMEOUT_MAX_MS) return ms;
  throw new InvalidArgumentError('Give at most 24h.');
}

const collect = (value: string, before: readonly string[] | undefined): readonly string[] => {
  if (!/^[^=]+=/.test(value)) throw new InvalidArgumentError('Give a name, =, and a value.');
  return repeated(value, before);
};
