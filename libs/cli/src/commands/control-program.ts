/** Owns the arguments and options of `jobs`, `queues`, `fleet`, `children`, `questions`, `rejected` and `definitions`, and their help. Must hold no logic. */

import { BULK_ACTS, type BulkAct } from '@tidemark/runtime';
import { Argument, type Command } from 'commander';
import { nameText, tenantName, wholeNumber } from '../arguments.ts';
import { LIST_DEFAULT_COUNT, LIST_MAX_COUNT } from '../limits.ts';
import { withFilters } from './filter-options.ts';
import { type FleetOptions, fleet } from './fleet.ts';
import {
  type CancelJobOptions,
  cancelJob,
  type JobPlace,
  type ListJobsOptions,
  listJobs,
  type StartJobOptions,
  showJob,
  startJob,
  watchJob,
} from './jobs.ts';
import { children, type DefinitionsOptions, definitions, type ListOptions, questions, rejected } from './lists.ts';
import { listQueues, pauseQueue, type QueuesOptions, resumeQueue, type SteerQueueOptions } from './queues.ts';
import type { CommandKit } from './recovery-program.ts';

type Kit = Omit<CommandKit, 'listed'> & {
  readonly listed: <T extends { readonly workflows?: readonly string[] | undefined }>(options: T) => T;
  readonly modules: (command: Command) => Command;
};

export function addControl(kit: Kit): void {
  addJobs(kit);
  addQueues(kit);
  addLists(kit);
}

const limited = (sub: Command): Command =>
  sub.option('--limit <count>', 'at most this many', wholeNumber(1, LIST_MAX_COUNT), LIST_DEFAULT_COUNT);
const ofTenant = (sub: Command): Command => sub.option('--tenant <name>', 'of this tenant only', tenantName);
const byWhy = (sub: Command): Command =>
  sub
    .requiredOption('--by <name>', 'who decides it')
    .requiredOption('--why <text>', 'the reason, kept with the decision');

function addJobs({ command, does, common }: Kit): void {
  const parent = command('jobs', 'do one thing to many workflows, durably, with progress').helpCommand(false);
  const sub = (usage: string, what: string, isDefault = false): Command =>
    common(parent.command(usage, { isDefault }).description(what).copyInheritedSettings(parent));
  limited(ofTenant(sub('list', 'jobs, newest first', true))).action(does<[ListJobsOptions]>(listJobs));
  withFilters(sub('start', 'begin a job over all workflows that the filters find now'))
    .addArgument(new Argument('<act>', 'what is done to each').choices([...BULK_ACTS]))
    .option('--everything', 'all workflows are meant')
    .option('--dry-run', 'tell how many it would find, and do nothing')
    .option('--signal <name>', "the signal's name, for signal", nameText)
    .option('--value <json>', "the signal's value: JSON, @file, or - for standard input")
    .option('--id <id>', 'id of the job; the same id is the same job (default: a new one)', nameText)
    .option('--by <name>', 'who asks')
    .option('--why <text>', 'the reason, kept with each event')
    .option('--watch', 'tell how far it is until it has ended')
    .action(does<[BulkAct, StartJobOptions]>(startJob));
  const one = (usage: string, what: string): Command => sub(usage, what).argument('<id>', 'id of the job');
  one('show', 'how far a job is, and what refused').action(does<[string, JobPlace]>(showJob));
  one('watch', 'the same, until it has ended').action(does<[string, JobPlace]>(watchJob));
  byWhy(one('cancel', 'stop a job; what it has done stays done')).action(does<[string, CancelJobOptions]>(cancelJob));
}

function addQueues({ command, does, common }: Kit): void {
  const parent = command('queues', 'work that waits, by workflow; all of one is held and let go').helpCommand(false);
  const sub = (usage: string, what: string, isDefault = false): Command =>
    ofTenant(common(parent.command(usage, { isDefault }).description(what).copyInheritedSettings(parent)));
  sub('list', 'what is ready, running and held', true).action(does<[QueuesOptions]>(listQueues));
  for (const [name, what, perform] of [
    ['pause', 'claim nothing of a workflow until it is resumed; steps under way finish, starts wait', pauseQueue],
    ['resume', 'let a held queue go on', resumeQueue],
  ] as const) {
    byWhy(sub(name, what))
      .argument('<workflow>', 'name of the workflow')
      .action(does<[string, SteerQueueOptions]>(perform));
  }
}

function addLists({ command, does, common, listed, modules }: Kit): void {
  ofTenant(common(command('fleet', 'what all workflows are at: counts, workers, queues, lag, cost'))).action(
    does<[FleetOptions]>(fleet),
  );
  limited(common(command('children', 'workflows that the tasks of one have started')))
    .argument('<id>', 'id of the run')
    .action(does<[string, ListOptions]>(children));
  limited(ofTenant(common(command('questions', 'workflows that wait for a person, newest first')))).action(
    does<[ListOptions]>(questions),
  );
  limited(common(command('rejected', 'events that changed nothing, and why, newest first'))).action(
    does<[ListOptions]>(rejected),
  );
  modules(common(command('definitions', 'workflows that can be started here'))).action(
    (options: DefinitionsOptions, self: Command) => does<[DefinitionsOptions]>(definitions)(listed(options), self),
  );
}
