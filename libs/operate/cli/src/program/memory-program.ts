/** Owns the arguments and options of `session`, `memory`, `user` and `budget`, and their help. Must hold no logic. */

import { type Command, Option } from 'commander';
import { repeated, tenantName, wholeNumber } from '../arguments.ts';
import type { ProgramKit } from './program-kit.ts';
import { places, why } from './shared-options.ts';

const budgetCommands = () => import('../commands/budget.ts');
const memoryCommands = () => import('../commands/memory.ts');
const sessionCommands = () => import('../commands/session.ts');
const userCommands = () => import('../commands/user.ts');

/** Most entries that a recall and a list answer. */
const RECALL_MAX_COUNT = 20;
const FACTS_MAX_COUNT = 1_000;

export function addMemory({ command, does, modules }: ProgramKit): void {
  const group = (name: string, description: string) => {
    const parent = command(name, description).helpCommand(false);
    return (usage: string, what: string): Command =>
      places(parent.command(usage).description(what).copyInheritedSettings(parent)).option(
        '--tenant <name>',
        'whose it is (default: default)',
        tenantName,
      );
  };

  const session = group('session', 'continue a session of an agent, or hand it over');
  session('show', 'print everything that is needed to continue: status, what it waits for, belief, notes, hand-overs')
    .argument('<session>', 'id of the session')
    .action(does(sessionCommands, 'sessionShow'));
  modules(session('resume', 'resume its live workflow, or start the next one where all have ended'))
    .argument('<session>', 'id of the session')
    .option('--definition <name>', 'start this one (default: that of the newest workflow of the session)')
    .option('--input <json>', 'start it with this: JSON, @file or - (default: the input of the newest workflow)')
    .action(does(sessionCommands, 'sessionResume'));
  session('handover', 'hand a session over, with what the next one needs to know')
    .argument('<session>', 'id of the session')
    .requiredOption('--from <name>', 'who hands over')
    .requiredOption('--to <name>', 'who continues it: an agent or a person')
    .requiredOption('--message <text>', 'what they need to know')
    .option('--artifact <name>', 'something they need, such as a path; may be repeated', repeated)
    .action(does(sessionCommands, 'sessionHandOver'));

  const memory = group('memory', 'what is known: facts about users, domains and the tenant; summaries of sessions');
  about(memory('recall', 'find what fits a question, by words, and by meaning where there are embeddings'))
    .argument('<query>', 'what it is about')
    .option('--limit <count>', 'at most this many', wholeNumber(1, RECALL_MAX_COUNT), 3)
    .addOption(new Option('--kind <kind>', 'only these (default: both)').choices(['summary', 'fact']))
    .action(does(memoryCommands, 'memoryRecall'));
  about(memory('remember', 'remember a fact; the same text is the same fact'))
    .argument('<text>', 'the fact, a sentence')
    .option('--source <text>', 'where it is from (default: who you are)')
    .action(does(memoryCommands, 'memoryRemember'));
  about(memory('list', 'list facts, newest first'))
    .option('--limit <count>', 'at most this many', wholeNumber(1, FACTS_MAX_COUNT), 50)
    .action(does(memoryCommands, 'memoryList'));
  about(memory('forget', 'forget a fact'))
    .argument('<key>', 'its key, as list prints it')
    .action(does(memoryCommands, 'memoryForget'));

  const user = group('user', 'standing preferences of a user');
  ofUser(user('get', 'print a preference as JSON')).argument('<key>', 'its name').action(does(userCommands, 'userGet'));
  ofUser(user('set', 'set a preference'))
    .argument('<key>', 'its name')
    .argument('<value>', 'text, JSON, @file, or - for standard input')
    .option('--source <text>', 'who says so (default: who you are)')
    .action(does(userCommands, 'userSet'));
  ofUser(user('list', 'list the preferences'))
    .argument('[prefix]', 'only keys that begin so')
    .action(does(userCommands, 'userList'));
  ofUser(user('forget', 'forget a preference')).argument('<key>', 'its name').action(does(userCommands, 'userForget'));

  const budget = group('budget', 'what a tenant, a user or a workflow may spend on model calls');
  const ofAnybody = (sub: Command): Command => sub.option('--user <name>', 'of this user (default: of the tenant)');
  ofAnybody(budget('show', 'show budgets and what is spent of them'))
    .argument('[workflow]', 'id of a run: what it has spent as well')
    .action(does(budgetCommands, 'budgetShow'));
  spends(ofAnybody(budget('set', 'set the budget of the tenant or of a user, over all their workflows')))
    .addOption(new Option('--period <time>', 'within what time').choices(['hour', 'day', 'month', 'total']))
    .addOption(new Option('--none', 'take the budget away').conflicts(['tokens', 'usd', 'period']))
    .action(does(budgetCommands, 'budgetSet'));
  const raise = budget('raise', 'let a workflow spend more; one that is paused for lack of budget resumes');
  why(spends(raise).argument('<workflow>', 'id of the run')).action(does(budgetCommands, 'budgetRaise'));
}

const about = (command: Command): Command =>
  command
    .option('--user <name>', 'about this user')
    .option('--about <subject>', "about 'domain:NAME', a field of knowledge, or 'tenant', everybody");

const ofUser = (command: Command): Command => command.requiredOption('--user <name>', 'whose memory');

const spends = (command: Command): Command =>
  command
    .option('--tokens <count>', 'tokens', wholeNumber(0, Number.MAX_SAFE_INTEGER))
    .option('--usd <amount>', 'US dollars, such as 5 or 0.25');
