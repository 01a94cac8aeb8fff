/** Owns the arguments and options of `jobs`, `queues`, `fleet`, `children`, `questions`, `rejected` and `definitions`, and their help. Must hold no logic. */

import { BULK_ACTS } from '@tidemark/runtime/names';
import { Argument, type Command } from 'commander';
import { nameText } from '../arguments.ts';
import { withFilters } from './filter-options.ts';
import type { ProgramKit } from './program-kit.ts';
import { limited, ofTenant, places, why } from './shared-options.ts';

const jobsCommands = () => import('../commands/jobs.ts');
const listsCommands = () => import('../commands/lists.ts');
const queuesCommands = () => import('../commands/queues.ts');

export function addControl(kit: ProgramKit): void {
  addJobs(kit);
  addQueues(kit);
  addLists(kit);
}

function addJobs({ command, does }: ProgramKit): void {
  const parent = command('jobs', 'do one thing to many workflows, durably, with progress').helpCommand(false);
  const sub = (usage: string, what: string, isDefault = false): Command =>
    places(parent.command(usage, { isDefault }).description(what).copyInheritedSettings(parent));
  limited(ofTenant(sub('list', 'jobs, newest first', true))).action(does(jobsCommands, 'listJobs'));
  withFilters(sub('start', 'begin a job over all workflows that the filters find now'))
    .addArgument(new Argument('<act>', 'what is done to each').choices([...BULK_ACTS]))
    .option('--everything', 'all workflows are meant')
    .option('--dry-run', 'print how many it would find, and do nothing')
    .option('--signal <name>', "the signal's name, for signal", nameText)
    .option('--value <json>', "the signal's value: JSON, @file, or - for standard input")
    .option('--id <id>', 'id of the job; the same id is the same job (default: a new one)', nameText)
    .option('--by <name>', 'who asks, where state is a folder (default: your name here; a server knows you)')
    .option('--why <text>', 'the reason, kept with each event')
    .option('--watch', 'print its progress until it has ended')
    .action(does(jobsCommands, 'startJob'));
  const one = (usage: string, what: string): Command => ofTenant(sub(usage, what)).argument('<id>', 'id of the job');
  one('show', 'how far a job is, and what refused').action(does(jobsCommands, 'showJob'));
  one('watch', 'the same, until it has ended').action(does(jobsCommands, 'watchJob'));
  why(one('cancel', 'stop a job; what it has done stays done')).action(does(jobsCommands, 'cancelJob'));
}

function addQueues({ command, does }: ProgramKit): void {
  const parent = command('queues', 'work that waits, by workflow; pause and resume all of one').helpCommand(false);
  const sub = (usage: string, what: string, isDefault = false): Command =>
    ofTenant(places(parent.command(usage, { isDefault }).description(what).copyInheritedSettings(parent)));
  sub('list', 'what is ready, running and paused', true).action(does(queuesCommands, 'listQueues'));
  const steer = (name: string, what: string): Command =>
    why(sub(name, what)).argument('<workflow>', 'name of the workflow', nameText);
  steer('pause', 'claim nothing of a workflow until it is resumed; steps under way finish, starts wait')
    .option('--future', 'also of one that nothing is known of yet')
    .action(does(queuesCommands, 'pauseQueue'));
  steer('resume', 'resume a paused queue').action(does(queuesCommands, 'resumeQueue'));
}

function addLists({ command, does, modules }: ProgramKit): void {
  ofTenant(places(command('fleet', 'what all workflows are at: counts, workers, queues, lag, cost'))).action(
    does(() => import('../commands/fleet.ts'), 'fleet'),
  );
  limited(places(command('children', 'workflows that the tasks of one have started')))
    .argument('<id>', 'id of the run')
    .action(does(listsCommands, 'children'));
  limited(ofTenant(places(command('questions', 'workflows that wait for a person, newest first')))).action(
    does(listsCommands, 'questions'),
  );
  limited(places(command('rejected', 'events that changed nothing, and why, newest first'))).action(
    does(listsCommands, 'rejected'),
  );
  modules(places(command('definitions', 'workflows that can be started here'))).action(
    does(listsCommands, 'definitions'),
  );
}
