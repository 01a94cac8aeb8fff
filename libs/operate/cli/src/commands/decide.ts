/**
 * Owns `tidemark approve`, `reject`, `confirm` and `signal`: a person's message to a workflow that waits for it, with its author and
 * reason, and whether it counts. Must not decide whether an answer fits: the client and the fold do.
 */

import { randomUUID } from 'node:crypto';
import { InvalidError, type Json, type Resolution } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { readDefinitions } from '../definitions.ts';
import { readJson } from '../input.ts';
import { continuesWith } from '../place/next-holder.ts';
import { type AtPlaceOptions, atPlace, type Place, type PlaceOptions } from '../place/place.ts';
import type { Session } from '../session.ts';
import { printable } from '../text/width.ts';
import { answerApproval } from './approvals.ts';

interface ModulePlace extends PlaceOptions {
  readonly workflows?: readonly string[] | undefined;
}

export interface RejectOptions extends ModulePlace {
  /** Answers the approval of a waiting task instead of a question. */
  readonly task?: string | undefined;
  readonly by?: string | undefined;
  readonly why: string;
  readonly question?: string | undefined;
}

export interface ApproveOptions extends RejectOptions {
  readonly as?: Exclude<Resolution, 'fail'> | undefined;
  readonly response?: string | undefined;
  readonly value?: string | undefined;
}

export interface ConfirmOptions extends ModulePlace {
  readonly response?: string | undefined;
  readonly failed?: string | undefined;
}

export interface SignalOptions extends ModulePlace {
  readonly value?: string | undefined;
  readonly key?: string | undefined;
}

export async function approve(session: Session, id: string, options: ApproveOptions): Promise<number> {
  const { as, response, task, value } = options;
  if ((task === undefined) !== (value === undefined) || (task !== undefined && (as ?? response) !== undefined)) {
    const message = 'Give --task and --value to answer an approval; --as and --response to answer a question.';
    throw new InvalidError('answer-invalid', message);
  }
  if (task !== undefined) return approveTask(session, id, task, options, await readJson('--value', value!, session));
  const given = response === undefined ? undefined : await readJson('--response', response, session);
  // A response implies that the call happened.
  return answer(session, id, options, as ?? (given === undefined ? 'retry' : 'done'), given);
}

export const reject = (session: Session, id: string, options: RejectOptions): Promise<number> =>
  options.task === undefined
    ? answer(session, id, options, 'fail', undefined)
    : approveTask(session, id, options.task, options, undefined);

/** Without a value it is rejected. */
async function approveTask(
  session: Session,
  id: string,
  task: string,
  options: RejectOptions,
  value: Json | undefined,
): Promise<number> {
  const given = { approved: value !== undefined, why: options.why, ...(value !== undefined && { value }) };
  await asking(session, options, (place) => answerApproval(session, place, id, task, given));
  return EXIT.ok;
}

async function answer(
  session: Session,
  id: string,
  options: RejectOptions,
  resolution: Resolution,
  response: Json | undefined,
): Promise<number> {
  const { why, question } = options;
  const decision = {
    ...{ resolution, why },
    ...(question !== undefined && { question }),
    ...(response !== undefined && { response }),
  };
  await asking(session, options, async (place) => {
    const decided = await place.client.run(id).decide(decision);
    session.terminal.answer(decided);
    session.terminal.line(
      `${printable(decided.workflow)}: '${resolution}' is decided. ${nextWords(resolution, place)}`,
    );
    warnUnchecked(session, decided.unchecked);
  });
  return EXIT.ok;
}

export async function confirm(session: Session, id: string, token: string, options: ConfirmOptions): Promise<number> {
  const said = await confirmationOf(session, options);
  await asking(session, options, async (place) => {
    const done = await place.client.run(id).confirm(token, said);
    const outcome = 'error' in said ? 'failed' : 'done';
    session.terminal.answer(done);
    session.terminal.line(`${printable(done.workflow)}: '${printable(token)}' is ${outcome}. ${continuesWith(place)}`);
    warnUnchecked(session, done.unchecked);
  });
  return EXIT.ok;
}

/** Without a key each call is another signal. */
export async function signal(session: Session, id: string, name: string, options: SignalOptions): Promise<number> {
  const value = options.value === undefined ? null : await readJson('--value', options.value, session);
  const { key = randomUUID() } = options;
  await asking(session, options, async (place) => {
    const { workflow } = await place.client.run(id).signal(name, value, { key });
    session.terminal.answer({ workflow, signal: name, key });
    session.terminal.line(`${printable(workflow)}: it has the signal '${printable(name)}'. ${continuesWith(place)}`);
  });
  return EXIT.ok;
}

async function confirmationOf(session: Session, { response, failed }: ConfirmOptions) {
  if ((response === undefined) === (failed === undefined)) {
    throw new InvalidError(
      'confirmation-invalid',
      'Give either --response with what it answered, or --failed with why not.',
    );
  }
  if (failed !== undefined) return { error: failed };
  return { response: await readJson('--response', response!, session) };
}

/** The workflow itself checks a response that it reads, and fails permanently where it doesn't fit. */
function warnUnchecked({ terminal }: Session, operation: string | null): void {
  if (operation === null) return;
  terminal.warn(
    `The response of ${printable(operation)} was taken as given, without a check: no workflow that is known there lists this effect. Name the module of one that does (--workflows for a folder that nobody holds, TIDEMARK_WORKFLOWS of a coordinator) to have responses checked.`,
  );
}

/** Only a folder that nobody holds needs the modules. */
function asking(
  session: Session,
  { workflows = [], ...where }: ModulePlace & Pick<AtPlaceOptions, 'by'>,
  work: (place: Place) => Promise<void>,
): Promise<void> {
  const definitions = async () => (workflows.length === 0 ? [] : readDefinitions(workflows, session.cwd));
  return atPlace(session, { ...where, how: 'read', definitions }, work);
}

function nextWords(resolution: Resolution, place: Place): string {
  const who = continuesWith(place);
  if (resolution === 'fail') return who.replace('It goes on', 'It is ended');
  return resolution === 'compensate' ? who.replace('It goes on', 'It is compensated') : who;
}
