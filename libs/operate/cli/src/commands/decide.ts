/**
 * Owns `tidemark approve`, `reject`, `confirm` and `signal`: a person's message to a workflow that waits for it, with its author and
 * reason, and whether it counts. Must not decide whether an answer fits: the client and the fold do.
 */

import { randomUUID } from 'node:crypto';
import { Option } from '@commander-js/extra-typings';
import { InvalidError, type Json, type Resolution } from '@tidemark/core';
import { nameText } from '../arguments.ts';
import { readJson } from '../input.ts';
import { continuesWith } from '../place/next-holder.ts';
import type { Place } from '../place/place.ts';
import { type FilterOptions, withFilters } from '../program/filter-options.ts';
import type { ProgramKit, Work } from '../program/program-kit.ts';
import { modules, places, why } from '../program/shared-options.ts';
import type { Terminal } from '../terminal.ts';
import { printable } from '../text/width.ts';
import { startJob } from './jobs.ts';

export function addDecisions(kit: ProgramKit): void {
  const { command, asks } = kit;
  const sub = (name: string, description: string) =>
    modules(kit, places(command(name, description))).argument('<id>', 'id of the run');
  const answering = (name: string, description: string) =>
    why(withFilters(modules(kit, places(command(name, description)))))
      .argument('[id]', 'id of the run; absent: all that the filters find are answered, as a job')
      .option('--approvals', 'with filters: their approvals are answered, in place of questions')
      .option('--name <name>', 'with --approvals: only those of this name', nameText)
      .option('--question <id>', 'the question that is meant (default: the open one)')
      .option(
        '--task <id>',
        'the task whose approval is answered, in place of a question; tidemark approvals lists them',
      );
  answering('approve', 'answer the question of a workflow that waits for a person, so that it resumes')
    .addOption(
      new Option('--as <resolution>', 'what is decided (default: retry, or done where there is a response)').choices([
        'retry',
        'done',
        'not-done',
        'compensate',
      ]),
    )
    .option('--response <json>', 'what the effect in question answered: JSON, @file, or - for standard input')
    .option(
      '--value <json>',
      'with --task: what its form asks for: JSON, @file, or - for standard input (default: what the form begins with)',
    )
    .action(
      asks('read', async (id, options) => {
        const { as, response, task, value } = options;
        if (id === undefined) return answerAll(kit, 'approved', { ...options, as: as ?? 'retry' });
        if (task === undefined ? value !== undefined : (as ?? response) !== undefined) {
          const message = 'Give --task and --value to answer an approval; --as and --response to answer a question.';
          throw new InvalidError('answer-invalid', message);
        }
        const read = (name: string, given: string | undefined) =>
          given === undefined ? undefined : readJson(name, given, kit);
        if (task !== undefined) return answerTask(id, { ...options, task }, { value: await read('--value', value) });
        // A response implies that the call happened.
        const given = await read('--response', response);
        return answer(id, options, as ?? (given === undefined ? 'retry' : 'done'), given);
      }),
    );
  answering('reject', 'answer the question of a workflow that waits for a person: it fails').action(
    asks('read', (id, options) => {
      const { task } = options;
      if (id === undefined) return answerAll(kit, 'rejected', { ...options, as: 'fail' });
      return task === undefined ? answer(id, options, 'fail', undefined) : answerTask(id, { ...options, task });
    }),
  );
  sub('confirm', 'report the outcome of an effect that was accepted outside')
    .argument('<token>', 'what its receiver gave for it')
    .option('--response <json>', 'it is done, and answered this: JSON, @file, or - for standard input')
    .option('--failed <text>', 'it certainly was not done, and why')
    .action(asks('read', (id, token, options) => confirm(kit, id, token, options)));
  sub('signal', 'send a workflow a signal, which a task of its waits for or will wait for')
    .argument('<name>', 'name of the signal')
    .option('--value <json>', 'what comes with it: JSON, @file, or - for standard input (default: null)')
    .option('--key <name>', 'with the same key it counts once, however often it is sent')
    .action(
      asks('read', async (id, name, { value, key = randomUUID() }) => {
        const given = value === undefined ? null : await readJson('--value', value, kit);
        return async ({ client, place, report }) => {
          const { workflow } = await client.run(id).signal(name, given, { key });
          const then = continuesWith(place, 'resumes', 'One that waits already');
          const said = `${printable(workflow)}: it has the signal '${printable(name)}', and keeps it until a task waits for it. ${then}`;
          report({ workflow, signal: name, key }, said);
        };
      }),
    );
}

type ManyOptions = FilterOptions & {
  readonly why: string;
  readonly as: Resolution;
  readonly approvals?: true;
  readonly name?: string;
  readonly response?: string;
  readonly value?: string;
};

/** Starts a job that answers all that the filters find. */
function answerAll(
  kit: ProgramKit,
  approval: 'approved' | 'rejected',
  { as, approvals, response, ...options }: ManyOptions,
): Promise<Work> {
  return startJob(
    kit,
    'answer',
    approvals === true ? { ...options, approval } : { ...options, as, ...(response !== undefined && { response }) },
  );
}

interface TaskAnswer {
  readonly task: string;
  readonly why: string;
}

/** `approved`: with a value, or with what the form begins with. Absent: it is rejected. */
function answerTask(
  workflow: string,
  { task, why }: TaskAnswer,
  approved?: { readonly value: Json | undefined },
): Work {
  const body = { approved: approved !== undefined, why, value: approved?.value };
  const input = { params: { workflow, task }, body };
  return async ({ client, place, report }) => {
    const done = await client.ask('POST /v1/workflows/{workflow}/approvals/{task}', input, { isRepeatable: true });
    const what = approved === undefined ? 'rejected' : 'approved';
    const said = done.changed
      ? `task ${printable(task)} is ${what}. ${continuesWith(place)}`
      : `task ${printable(task)} was ${what} so before. Nothing changed.`;
    report(done, `${printable(done.workflow)}: ${said}`);
  };
}

function answer(
  id: string,
  { why, question }: { readonly why: string; readonly question?: string },
  resolution: Resolution,
  response: Json | undefined,
): Work {
  return async ({ client, place, terminal, report }) => {
    const decided = await client.run(id).decide({ resolution, why, question, response });
    report(decided, `${printable(decided.workflow)}: '${resolution}' is decided. ${nextWords(resolution, place)}`);
    warnUnchecked(terminal, decided.unchecked);
  };
}

async function confirm(
  kit: ProgramKit,
  id: string,
  token: string,
  { response, failed }: { readonly response?: string; readonly failed?: string },
): Promise<Work> {
  if ((response === undefined) === (failed === undefined)) {
    throw new InvalidError(
      'confirmation-invalid',
      'Give either --response with what it answered, or --failed with why not.',
    );
  }
  const said = failed === undefined ? { response: await readJson('--response', response!, kit) } : { error: failed };
  return async ({ client, place, terminal, report }) => {
    const done = await client.run(id).confirm(token, said);
    const outcome = failed === undefined ? 'done' : 'failed';
    report(done, `${printable(done.workflow)}: '${printable(token)}' is ${outcome}. ${continuesWith(place)}`);
    warnUnchecked(terminal, done.unchecked);
  };
}

/** The workflow itself checks a response that it reads, and fails permanently where it doesn't fit. */
function warnUnchecked(terminal: Terminal, operation: string | null): void {
  if (operation === null) return;
  terminal.warn(
    `The response of ${printable(operation)} was taken as given, without a check: no workflow that is known there lists this effect. Name the module of one that does (--workflows for a folder that nobody holds, TIDEMARK_WORKFLOWS of a coordinator) to have responses checked.`,
  );
}

function nextWords(resolution: Resolution, place: Place): string {
  if (resolution === 'fail') return continuesWith(place, 'is ended');
  return resolution === 'compensate' ? continuesWith(place, 'is compensated') : continuesWith(place);
}
