/**
 * Owns approvals: the open ones that rows have, the form that an answer must fit, and the writing of the answer. Questions and answers are
 * events of the log alone. It does not decide who may answer: callers who know the principal do.
 */

import { type ApprovalAsk, canonicalJson, decodePayload, foldFor, keepValue, toJson } from '@tidemark/codec';
import {
  type Condition,
  ConflictError,
  type Controls,
  eventId,
  InvalidError,
  isClosed,
  type Json,
  type Sequence,
  type TaskId,
  type TaskState,
  type TenantId,
  taskOrder,
  type WorkflowId,
} from '@tidemark/core';
import type { ApprovalPlace, ApprovalQuery, ApprovalRow, ProjectionStore } from '@tidemark/ports';
import type { ErrorObject } from 'ajv/dist/2020.js';
import { digestOf, type Ports, whileUnavailable } from '../kernel/index.ts';
import { checkName, checkText } from '../lease/index.ts';
import { DECISION_EVENTS_MAX_COUNT, FORK_DEPTH_MAX } from './limits.ts';
import { closed, type WorkflowInbox } from './workflow-inbox.ts';

/** Most open approvals in one page. */
const APPROVALS_PAGE_COUNT = 100;

/** A question to a person, and the task that waits for the answer. */
export interface Approval extends ApprovalAsk {
  readonly workflow: WorkflowId;
  readonly tenant: TenantId;
  readonly definition: string;
  readonly task: TaskId;
  /** The step that waits for the answer. */
  readonly step: string;
  readonly name: string;
  readonly assignee: string | null;
  readonly askedAtMs: number;
}

export interface ApprovalPage {
  readonly approvals: readonly Approval[];
  /** Where the next page begins; null: there is none. */
  readonly next: ApprovalPlace | null;
}

export interface ApprovalAnswer {
  readonly approved: boolean;
  /** The person who answers. */
  readonly by: string;
  readonly why?: string | undefined;
  /** The value of the form; absent when the approval is rejected. */
  readonly value?: unknown;
  /** Checks, before anything is written, whether the caller may answer for that assignee; throws if not. */
  readonly admit?: ((assignee: string | null) => void) | undefined;
}

/** The answer as the waiting step receives it. */
export interface GivenApproval {
  readonly approved: boolean;
  readonly by: string;
  readonly why: string | null;
  readonly value: Json;
}

export interface ApprovalAnswered {
  /** False: the same answer was given before. */
  readonly changed: boolean;
}

type Asking = Extract<Condition, { kind: 'approval' }>;
type Reads = Pick<ProjectionStore, 'checkpoints'>;
type ApprovalPorts = Pick<Ports, 'store' | 'clock' | 'digest'>;

export class Approvals {
  readonly #ports: ApprovalPorts;
  readonly #inbox: WorkflowInbox;
  readonly #closing: AbortSignal;

  constructor(ports: ApprovalPorts, inbox: WorkflowInbox, closing: AbortSignal) {
    this.#ports = ports;
    this.#inbox = inbox;
    this.#closing = closing;
  }

  /** See `Client.approvals`. */
  async list(query: ApprovalQuery): Promise<ApprovalPage> {
    const { store, clock } = this.#ports;
    const limit = Math.min(query.limit ?? APPROVALS_PAGE_COUNT, APPROVALS_PAGE_COUNT);
    return whileUnavailable(clock, this.#closing, async () => {
      const rows = await store.approvals({ ...query, limit: limit + 1 });
      const found: (Approval | undefined)[] = [];
      // One after the other: each question may stand in a payload of many megabytes.
      for (const row of rows.slice(0, limit)) found.push(await approvalIn(store, row, query.content));
      const last = rows[limit - 1];
      const next = rows.length > limit && last !== undefined ? placeOf(last) : null;
      return { approvals: found.filter((one) => one !== undefined), next };
    });
  }

  /** See `Client.approve`. */
  async answer(id: string, task: string, asGiven: ApprovalAnswer): Promise<ApprovalAnswered> {
    const by = checkName('by', asGiven.by);
    if (asGiven.why !== undefined) checkText('why', asGiven.why);
    // Tasks of a later run have the same ids: the answer is for the run that was named.
    const { row, state } = await this.#inbox.exactly(id);
    const guard = this.#inbox.guard(row);
    const content = guard.content('decision', 'answer', { why: asGiven.why, value: asGiven.value });
    const given = { ...asGiven, ...content.value };
    const waiting = state.frontier.tasks.get(task as TaskId);
    const asking = waiting === undefined || isClosed(state) ? undefined : askingOf(waiting);
    if (asking === undefined) return this.#settled(row.workflow, task, given);
    given.admit?.(asking.assignee ?? null);
    const ask = await askOf(this.#ports.store, row.workflow, task as TaskId);
    const value = given.approved ? await checkedForm(given.value, ask?.form ?? {}) : refusedForm(given.value);
    const answer: Json = { approved: given.approved, by, why: given.why ?? null, value };
    const control = { task: task as TaskId, name: asking.name, approved: given.approved, by };
    // The same answer of the same person is one event. The fold rejects any other answer after the first.
    const event = eventId(`approve:${task}:${digestOf(this.#ports.digest, answer)}`);
    const head = guard.names('by', by).as(() => ({ id: event, control }));
    const payload = content.as(() => ({ value: answer }));
    if (await this.#inbox.write(row, 'ApprovalGiven', head, payload, state)) return { changed: true };
    return this.#settled(row.workflow, task, given);
  }

  /** The task does not wait for an answer (any more). The same answer is a success; otherwise the error says what was answered. */
  async #settled(workflow: WorkflowId, task: string, answer: ApprovalAnswer): Promise<ApprovalAnswered> {
    const events = await this.#ports.store.events(workflow, DECISION_EVENTS_MAX_COUNT);
    const [given] = events
      .filter(({ type }) => type === 'ApprovalGiven')
      .map(({ control, payload }) => ({ ...(JSON.parse(control) as Controls['ApprovalGiven']), payload }))
      .filter((one) => one.task === task)
      .slice(-1);
    if (given?.approved === answer.approved && given.by === answer.by) {
      const recorded = decodePayload('ApprovalGiven', given.payload).value as unknown as GivenApproval;
      const ask = given.approved ? await askOf(this.#ports.store, workflow, task as TaskId) : undefined;
      const value =
        ask === undefined ? toJson(answer.value ?? null, 'value') : await checkedForm(answer.value, ask.form);
      if (canonicalJson(recorded.value) === canonicalJson(value)) return { changed: false };
    }
    if (given !== undefined) {
      const what = given.approved ? 'approved' : 'rejected';
      const message = `Task ${task} of ${workflow} was already ${what} by ${given.by}. The first answer counts.`;
      throw new ConflictError('already-answered', message, { workflow, task, by: given.by, approved: given.approved });
    }
    const { row, state } = await this.#inbox.exactly(workflow);
    if (isClosed(state)) throw closed(row);
    throw new ConflictError('not-asked', `Task ${task} of ${workflow} is not waiting for an approval.`, {
      workflow,
      task,
    });
  }
}

/** What the task asks a person; undefined: nothing. */
export const askingOf = ({ when }: Pick<TaskState, 'when'>): Asking | undefined =>
  when.find((condition): condition is Asking => condition.kind === 'approval');

const placeOf = ({ askedAtMs, workflow, task }: ApprovalRow): ApprovalPlace => ({ askedAtMs, workflow, task });

async function approvalIn(store: Reads, row: ApprovalRow, content = true): Promise<Approval | undefined> {
  const { workflow, tenant, definition, task, step, askedAtMs } = row;
  const asking = askingOf(JSON.parse(row.state) as TaskState);
  const ask = content ? await foldFor(() => askOf(store, workflow, task)) : { form: null };
  // Its workflow has ended since the row was read.
  if (asking === undefined || ask === undefined) return undefined;
  const { name, assignee = null } = asking;
  keepValue(ask as unknown as Json);
  return { workflow, tenant, definition, task, step, name, assignee, askedAtMs, ...ask };
}

/** The question of the task, from the payload that added it; for a task of a fork's base, from the base's payload. */
async function askOf(store: Reads, of: WorkflowId, task: TaskId): Promise<ApprovalAsk | undefined> {
  let [workflow, id] = [of, task];
  for (let depth = 0; depth <= FORK_DEPTH_MAX; depth++) {
    const [sequence, index] = taskOrder(id);
    const [row] = await store.checkpoints(workflow, { from: sequence as Sequence, limit: 1 });
    if (row?.sequence !== sequence) return undefined;
    if (sequence > 0) return decodePayload('CheckpointCommitted', row.payload).asks?.[index];
    const { asks, fork } = decodePayload('WorkflowOpened', row.payload);
    const base = fork?.shares[0]?.workflow;
    const origin = fork?.tasks[index]?.task;
    if (asks?.[index] !== undefined || base === undefined || origin === undefined) return asks?.[index];
    [workflow, id] = [base, origin];
  }
  return undefined;
}

/** The value with the form's defaults filled in. Throws `InvalidError` (`approval-unfit`), which names the places in the value. */
async function checkedForm(value: unknown, form: Json): Promise<Json> {
  const { given, isFit } = await filled(value, form);
  if (isFit(given)) return given;
  const wrong = (isFit.errors ?? []).slice(0, PROBLEMS_REPORTED_COUNT);
  const problems = wrong.map(({ instancePath, message }) => `value${instancePath} ${message}`);
  throw new InvalidError('approval-unfit', `The value doesn't fit the form: ${problems.join('; ')}.`, {
    problems,
    fields: wrong.map((error) => ({ field: `value${placeOfError(error)}`, problem: error.message ?? error.keyword })),
  });
}

/** A copy of the value, and the check that writes defaults into it. */
async function filled(value: unknown, form: Json) {
  const { Ajv2020 } = await import('ajv/dist/2020.js');
  const options = { strict: false, allErrors: true, validateFormats: false, useDefaults: true } as const;
  const { type, default: whole = type === 'object' ? {} : null } = form as { readonly type?: Json; default?: Json };
  const given = structuredClone(toJson(value ?? whole, 'value of the approval'));
  return { given, isFit: new Ajv2020(options).compile(form as object) };
}

/** As a JSON pointer; for a missing member, the place where it belongs. */
function placeOfError({ instancePath, params }: ErrorObject): string {
  const missing: unknown = params.missingProperty;
  return typeof missing === 'string'
    ? `${instancePath}/${missing.replaceAll('~', '~0').replaceAll('/', '~1')}`
    : instancePath;
}

/** Problems of a value that one error lists. */
const PROBLEMS_REPORTED_COUNT = 10;

function refusedForm(value: unknown): null {
  if (value === undefined || value === null) return null;
  throw new InvalidError('approval-unfit', 'value: a rejection has none. Leave it out, and give the reason in why.');
}
