/**
 * Owns the brief of a session: everything that somebody needs to continue it. It has the live workflow (or the newest), what it waits for
 * and why, its question, its belief, and the summaries and hand-overs of earlier workflows. It only reads rows. Its fields have the names
 * that all entry points show (commands, MCP), and the API's schema says what each means: plain data, which crosses a socket unchanged.
 */

import { decodePayload, keepJson, parseContent } from '@tidemark/codec';
import {
  type FragmentType,
  firstUnblocked,
  isClosed,
  isoTime,
  isUnblocked,
  type Json,
  recallArmOf,
  type StreamState,
  spendJson,
  streamFromJson,
  type TaskState,
  type TenantId,
} from '@tidemark/core';
import { blockedWords, type StepNames } from '@tidemark/core/timeline';
import { type SessionSummary, userSubject } from '@tidemark/memory';
import type { FragmentWithText, ProjectionStore, SessionWorkflow, WorkflowSummary } from '@tidemark/ports';
import { StreamContent } from '../history/index.ts';
import { fittingResolutions } from '../lease/index.ts';
import { HAND_OVER_PREFIX, type SessionHandOver, summaryIn } from './session-memory.ts';
import { sessionSubject } from './summaries.ts';

/** Most workflows, pending tasks, and hand-overs or summaries in a session's brief; and events that are read to find its question. */
const BRIEF_WORKFLOWS_MAX_COUNT = 50;
const BRIEF_TASKS_MAX_COUNT = 200;
const BRIEF_RECORDS_MAX_COUNT = 10;
const BRIEF_EVENTS_READ_MAX = 1_000;

export type BriefReads = Pick<
  ProjectionStore,
  'session' | 'workflow' | 'loadStreams' | 'events' | 'fragments' | 'memories'
>;

/** Undefined: nothing is known of such a session of this tenant (I9). */
export async function sessionBrief(reads: BriefReads, tenant: TenantId, session: string) {
  const [workflows, handovers] = await Promise.all([
    reads.session(tenant, session, BRIEF_WORKFLOWS_MAX_COUNT),
    handOversOf(reads, tenant, session),
  ]);
  const live = workflows.find(isLive);
  const current = live ?? workflows[0];
  if (current === undefined && handovers.length === 0) return undefined;
  const found = current === undefined ? undefined : await workflowBrief(reads, current);
  const user = found?.user ?? null;
  return {
    session,
    tenant,
    user,
    is_live: live !== undefined,
    workflow: found?.brief ?? null,
    earlier: workflows
      .filter((one) => one !== current)
      .map(({ workflow, definition, status, openedAtMs }) => ({
        workflow,
        definition,
        status,
        opened_at: isoTime(openedAtMs),
      })),
    handovers,
    summaries: await summariesOf(reads, tenant, session, user),
  };
}

const isLive = ({ status }: SessionWorkflow): boolean => !isClosed({ status } as StreamState);

async function workflowBrief(reads: BriefReads, { workflow }: SessionWorkflow) {
  const [row, [snapshot]] = await Promise.all([reads.workflow(workflow), reads.loadStreams([workflow])]);
  if (row === undefined || snapshot === undefined) return undefined;
  const state = streamFromJson(snapshot.state, snapshot.tasks);
  const content = StreamContent.from(snapshot, state);
  const fragments = await reads.fragments(workflow, state.head.sequence);
  const textsOf = (type: FragmentType): readonly string[] => textsIn(fragments, type);
  const tasks = [...state.frontier.tasks];
  const steps = new Map(tasks.map(({ id, step }) => [id, step]));
  const brief = {
    ...factsOf(state, row),
    goal: textsOf('task_goal'),
    constraints: textsOf('constraint'),
    summary: textsOf('summary').at(-1) ?? null,
    checkpoint_note: textsOf('checkpoint_note').at(-1) ?? null,
    input: content.input,
    belief: content.belief,
    frontier: tasks.slice(0, BRIEF_TASKS_MAX_COUNT).map((task) => taskBrief(task, content, steps)),
    pending_task_count: tasks.length,
    next_task:
      state.status === 'open' && state.paused === undefined ? (firstUnblocked(state.frontier)?.id ?? null) : null,
    question: await questionBrief(reads, state),
    ...endOf(row),
  };
  return { brief, user: state.user };
}

const textsIn = (fragments: readonly FragmentWithText[], wanted: FragmentType): readonly string[] =>
  fragments.filter(({ type }) => type === wanted).map(({ text }) => text);

const factsOf = (state: StreamState, row: WorkflowSummary) => ({
  workflow: state.workflow,
  definition: state.definition,
  definition_version: state.version,
  status: state.status,
  // Only the row says `paused`.
  reason: row.reason,
  sequence_number: state.head.sequence,
  checkpoint_id: state.head.checkpoint,
  opened_at: isoTime(state.openedAtMs),
  updated_at: isoTime(state.updatedAtMs),
  ...spendJson(state),
  holder: row.holder,
  recall: recallArmOf(state.tags) ?? null,
  last_action: state.lastAction,
  undo: state.undo,
});

function endOf({ status, result }: WorkflowSummary): { readonly output: Json; readonly error: string | null } {
  if (result === null) return { output: null, error: null };
  keepJson(result);
  if (status === 'completed') return { output: decodePayload('WorkflowCompleted', result).output, error: null };
  // The result of `WorkflowFailed`, or of a `CompensationFinished` that says why the undo failed.
  return { output: null, error: decodePayload('CompensationFinished', result).error?.message ?? null };
}

function taskBrief(task: TaskState, content: StreamContent, steps: StepNames) {
  const ready = isUnblocked(task);
  return {
    task: task.id,
    step: task.step,
    state: ready ? ('ready' as const) : ('blocked' as const),
    why: ready ? null : blockedWords(task, steps),
    input: content.inputOf(task.id),
    failure_count: task.failureCount,
    effects: task.effects.map(({ operation, key, status }) => ({ operation, idempotency_key: key, status })),
  };
}

async function questionBrief(reads: Pick<BriefReads, 'events'>, state: StreamState) {
  const { question, workflow } = state;
  if (question === null) return null;
  const events = await reads.events(workflow, BRIEF_EVENTS_READ_MAX);
  const parked = events.findLast(({ event }) => event === question.id);
  const payload = parked === undefined ? undefined : decodePayload('WorkflowParked', parked.payload);
  return {
    question_id: question.id,
    code: question.code,
    message: payload?.error.message ?? '',
    evidence: payload?.evidence ?? null,
    task: question.task,
    idempotency_key: question.key,
    resolutions: fittingResolutions(state, question),
  };
}

async function handOversOf(reads: Pick<BriefReads, 'memories'>, tenant: TenantId, session: string) {
  const subject = sessionSubject(session);
  const rows = await reads.memories({
    ...{ tenant, subject, kind: 'record' as const, prefix: HAND_OVER_PREFIX },
    ...{ order: 'newest' as const, limit: BRIEF_RECORDS_MAX_COUNT },
  });
  return rows.map(({ value, atMs }) => ({ ...(parseContent(value) as unknown as SessionHandOver), at: isoTime(atMs) }));
}

/** Summaries belong to the user, or to the session where it has none. */
async function summariesOf(
  reads: Pick<BriefReads, 'memories'>,
  tenant: TenantId,
  session: string,
  user: string | null,
): Promise<readonly SessionSummary[]> {
  const subject = user === null ? sessionSubject(session) : userSubject(user);
  const rows = await reads.memories({
    ...{ tenant, subject, kind: 'summary' as const, prefix: `${session}/` },
    ...{ order: 'newest' as const, limit: BRIEF_RECORDS_MAX_COUNT },
  });
  return rows.flatMap(summaryIn);
}
