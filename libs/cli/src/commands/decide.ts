/**
 * Owns `tidemark approve`, `reject`, `confirm` and `signal`: what a person says to a workflow that waits for one, with who and why, and
 * whether it counts. Must not decide whether an answer fits: the client and the fold do.
 */

import { randomUUID } from 'node:crypto';
import { InvalidError, type Json, type Resolution } from '@tidemark/core';
import { EXIT } from '@tidemark/host';
import type { Confirmation, Definition } from '@tidemark/runtime';
import { noState } from '../failures.ts';
import { readJson } from '../input.ts';
import type { Session } from '../session.ts';
import { noticeStall } from '../stall.ts';
import { readDefinitions } from '../state/definitions.ts';
import type { Desk } from '../state/desk.ts';
import { exists, openToRead, targetOf } from '../state/open-desk.ts';
import { requireWorkflow } from '../state/require-workflow.ts';
import { inQuestion, uncheckedOperation, underToken } from '../state/response-check.ts';
import { whoGoesOn } from '../state/who-goes-on.ts';
import { printable } from '../text/width.ts';
import { answerApproval } from './approvals.ts';

interface PlaceOptions {
  readonly state?: string | undefined;
  readonly workflows?: readonly string[] | undefined;
}

export interface RejectOptions extends PlaceOptions {
  /** The approval that a task waits for is answered, not a question. */
  readonly task?: string | undefined;
  readonly by: string;
  readonly why: string;
  readonly question?: string | undefined;
}

export interface ApproveOptions extends RejectOptions {
  readonly as?: Exclude<Resolution, 'fail'> | undefined;
  readonly response?: string | undefined;
  readonly value?: string | undefined;
}

export interface ConfirmOptions extends PlaceOptions {
  readonly response?: string | undefined;
  readonly failed?: string | undefined;
}

export interface SignalOptions extends PlaceOptions {
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
  // Whoever gives a response says that it happened.
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
  const { by, why } = options;
  await withDesk(session, options, (desk) =>
    answerApproval(session, desk, id, task, { approved: value !== undefined, by, why, value }),
  );
  return EXIT.ok;
}

async function answer(
  session: Session,
  id: string,
  options: RejectOptions,
  resolution: Resolution,
  response: Json | undefined,
): Promise<number> {
  const { by, why, question } = options;
  await withDesk(session, options, async (desk, given) => {
    const { workflow } = await requireWorkflow(desk, id);
    const unchecked =
      response === undefined ? null : await uncheckedOperation(desk, workflow, inQuestion, response, given);
    const decision = { resolution, by, why, question, ...(response === undefined ? {} : { response }) };
    const decided = await noticeStall(session.terminal, desk.place, desk.decide(workflow, decision));
    session.terminal.document({
      workflow,
      question_id: decided.question,
      resolution,
      by,
      why,
      ...uncheckedJson(unchecked),
    });
    session.terminal.line(
      `${printable(workflow)}: ${printable(by)} decided '${resolution}'. ${nextWords(resolution, desk)}`,
    );
    warnUnchecked(session, unchecked);
  });
  return EXIT.ok;
}

export async function confirm(session: Session, id: string, token: string, options: ConfirmOptions): Promise<number> {
  const confirmation = await confirmationOf(session, options);
  await withDesk(session, options, async (desk, given) => {
    const { workflow } = await requireWorkflow(desk, id);
    const unchecked =
      'error' in confirmation
        ? null
        : await uncheckedOperation(desk, workflow, underToken(token), confirmation.response as Json, given);
    await noticeStall(session.terminal, desk.place, desk.confirm(workflow, token, confirmation));
    const outcome = 'error' in confirmation ? 'failed' : 'done';
    session.terminal.document({ workflow, token, outcome, ...uncheckedJson(unchecked) });
    session.terminal.line(`${printable(workflow)}: '${printable(token)}' is ${outcome}. ${whoGoesOn(desk)}`);
    warnUnchecked(session, unchecked);
  });
  return EXIT.ok;
}

/** Without a key each call is another signal. */
export async function signal(session: Session, id: string, name: string, options: SignalOptions): Promise<number> {
  const value = options.value === undefined ? null : await readJson('--value', options.value, session);
  const { key = randomUUID() } = options;
  await withDesk(session, options, async (desk) => {
    const { workflow } = await requireWorkflow(desk, id);
    await noticeStall(session.terminal, desk.place, desk.signal(workflow, name, value, { key }));
    session.terminal.document({ workflow, signal: name, key });
    session.terminal.line(`${printable(workflow)}: it has the signal '${printable(name)}'. ${whoGoesOn(desk)}`);
  });
  return EXIT.ok;
}

async function confirmationOf(session: Session, { response, failed }: ConfirmOptions): Promise<Confirmation> {
  if ((response === undefined) === (failed === undefined)) {
    throw new InvalidError(
      'confirmation-invalid',
      'Give either --response with what it answered, or --failed with why not.',
    );
  }
  if (failed !== undefined) return { error: failed };
  return { response: await readJson('--response', response!, session) };
}

const uncheckedJson = (operation: string | null): object => (operation === null ? {} : { unchecked: operation });

/** A response that doesn't fit is found out when the workflow reads it, which then fails for good. */
function warnUnchecked({ terminal }: Session, operation: string | null): void {
  if (operation === null) return;
  terminal.warn(
    `The response of ${printable(operation)} was taken as given, without a check: no workflow that is known here lists this effect. Name the module of one that does with --workflows, or in TIDEMARK_WORKFLOWS, to have responses checked.`,
  );
}

async function withDesk(
  { env, cwd }: Session,
  { state, workflows = [] }: PlaceOptions,
  use: (desk: Desk, given: readonly Definition[]) => Promise<void>,
): Promise<void> {
  const target = targetOf(state, env, cwd);
  if (target.kind === 'embedded' && !exists(target)) throw noState(target.shown);
  const definitions = workflows.length === 0 ? [] : await readDefinitions(workflows, cwd);
  const desk = await openToRead(target, definitions);
  try {
    await use(desk, definitions);
  } finally {
    await desk.close();
  }
}

function nextWords(resolution: Resolution, desk: Desk): string {
  const who = whoGoesOn(desk);
  if (resolution === 'fail') return who.replace('It goes on', 'It is ended');
  return resolution === 'compensate' ? who.replace('It goes on', 'It is undone') : who;
}
