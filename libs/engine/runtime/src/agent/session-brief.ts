/**
 * Owns the brief of a session: everything that somebody needs to continue it. It has the live workflow (or the newest), what it waits for
 * and why, its question, its belief, and the summaries and hand-overs of earlier workflows. It only reads rows. Its field names are those
 * that all entry points show (commands, MCP): plain data, which crosses a socket unchanged.
 */

import { decodePayload, keepJson, parseContent } from '@tidemark/codec';
import {
  type FragmentType,
  firstUnblocked,
  isClosed,
  isoTime,
  isUnblocked,
  type Json,
  type RecallArm,
  recallArmOf,
  type SpendJson,
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

export interface TaskBrief {
  readonly task: string;
  readonly step: string;
  readonly state: 'ready' | 'blocked';
  /** Why it does not run, in words; null when it may run. */
  readonly why: string | null;
  readonly input: Json;
  readonly failure_count: number;
  /** Effects that were begun. */
  readonly effects: readonly {
    readonly operation: string;
    readonly idempotency_key: string;
    readonly status: string;
  }[];
}

export interface QuestionBrief {
  readonly question_id: string;
  readonly code: string;
  readonly message: string;
  readonly evidence: Json;
  readonly task: string | null;
  readonly idempotency_key: string | null;
  /** What a person may decide. */
  readonly resolutions: readonly string[];
}

export interface WorkflowBrief extends SpendJson {
  readonly workflow: string;
  readonly definition: string;
  readonly definition_version: number;
  readonly status: string;
  readonly reason: string | null;
  readonly sequence_number: number;
  readonly checkpoint_id: string | null;
  readonly opened_at: string;
  readonly updated_at: string;
  /** The worker that leases it; null: none. */
  readonly holder: string | null;
  /** Whether what memory recalls is in its bundles (control: nothing, for comparison); null: sessions are not compared. */
  readonly recall: RecallArm | null;
  readonly goal: readonly string[];
  readonly constraints: readonly string[];
  /** Summary of earlier messages; null: all of them are still there as they were. */
  readonly summary: string | null;
  readonly checkpoint_note: string | null;
  readonly last_action: string;
  readonly input: Json;
  readonly belief: Json;
  /** Pending tasks in order of creation, at most 200. */
  readonly frontier: readonly TaskBrief[];
  readonly pending_task_count: number;
  /** The task that runs next when the workflow resumes; null: none can run now. */
  readonly next_task: string | null;
  /** Set while it needs a person. */
  readonly question: QuestionBrief | null;
  /** The workflow that compensates it. */
  readonly undo: string | null;
  readonly output: Json;
  readonly error: string | null;
}

export interface HandOverBrief extends SessionHandOver {
  readonly at: string;
}

export interface SessionBrief {
  readonly session: string;
  readonly tenant: string;
  readonly user: string | null;
  /** Whether `workflow` is live; false: all have ended, or there was none yet. */
  readonly is_live: boolean;
  /** The live one, or else the newest; null: none was started. */
  readonly workflow: WorkflowBrief | null;
  /** The others, newest first. */
  readonly earlier: readonly {
    readonly workflow: string;
    readonly definition: string;
    readonly status: string;
    readonly opened_at: string;
  }[];
  /** Newest first. */
  readonly handovers: readonly HandOverBrief[];
  /** Summaries of its ended workflows, newest first. */
  readonly summaries: readonly SessionSummary[];
}

/** Undefined: nothing is known of such a session of this tenant (I9). */
export async function sessionBrief(
  reads: BriefReads,
  tenant: TenantId,
  session: string,
): Promise<SessionBrief | undefined> {
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
  const brief: WorkflowBrief = {
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

function endOf({ status, result }: WorkflowSummary): Pick<WorkflowBrief, 'output' | 'error'> {
  if (result === null) return { output: null, error: null };
  keepJson(result);
  if (status === 'completed') return { output: decodePayload('WorkflowCompleted', result).output, error: null };
  // The result of `WorkflowFailed`, or of a `CompensationFinished` that says why the undo failed.
  return { output: null, error: decodePayload('CompensationFinished', result).error?.message ?? null };
}

function taskBrief(task: TaskState, content: StreamContent, steps: StepNames): TaskBrief {
  const ready = isUnblocked(task);
  return {
    task: task.id,
    step: task.step,
    state: ready ? 'ready' : 'blocked',
    why: ready ? null : blockedWords(task, steps),
    input: content.inputOf(task.id),
    failure_count: task.failureCount,
    effects: task.effects.map(({ operation, key, status }) => ({ operation, idempotency_key: key, status })),
  };
}

async function questionBrief(reads: Pick<BriefReads, 'events'>, state: StreamState): Promise<QuestionBrief | null> {
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

async function handOversOf(
  reads: Pick<BriefReads, 'memories'>,
  tenant: TenantId,
  session: string,
): Promise<readonly HandOverBrief[]> {
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
