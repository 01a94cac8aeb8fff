/**
 * Owns the reports of an agent that runs elsewhere, and the checkpoint that follows from each. A report that doesn't fit the definition is
 * committed all the same, with a note: a shadow records what happened, and judges it afterwards. Pure except for ids and digests.
 */

import { type ErrorNote, toJson } from '@tidemark/codec';
import {
  type CheckpointId,
  InvalidError,
  type Json,
  type Sequence,
  type StreamState,
  type TaskState,
} from '@tidemark/core';
import type { Digest } from '@tidemark/ports';
import {
  type Definition,
  definitionOfShadow,
  REPORT_STEP,
  requestOf,
  type ShadowDefinition,
  type ShadowTask,
  type StepResult,
} from '../definition/index.ts';
import type { StreamContent } from '../history/index.ts';
import { digestOf } from '../kernel/index.ts';
import type { Draft } from '../lease/index.ts';
import { commitDrafts } from '../run/index.ts';
import { fingerprint, noteOf, type Observation } from './shadow-observed.ts';

/** One step of the agent, after it happened. Every value is JSON. */
export interface StepReport {
  /** Identifies the step within its run, 1..200 characters: reporting it twice is harmless. */
  readonly key: string;
  readonly step: string;
  /** The step's input; absent: the input with which it was added. */
  readonly input?: unknown;
  /** Tasks that it added. */
  readonly next?: readonly ShadowTask[] | undefined;
  /** Members of the belief that it set. Absent: the checkpoint uses `belief`. */
  readonly change?: { readonly [member: string]: unknown } | undefined;
  /** The agent's whole belief after the step. */
  readonly belief?: unknown;
  /** Names of all steps that the agent has pending after the step. */
  readonly pending?: readonly string[] | undefined;
  readonly output?: unknown;
  readonly lastAction?: string | undefined;
  readonly tokens?: number | undefined;
  readonly costMicros?: number | undefined;
}

/** A report in its written form; the agent's end is a report of the step that is always pending. */
export interface Report extends StepReport {
  readonly ends?: 'done' | 'failed' | undefined;
  /** The error if it failed. */
  readonly error?: ErrorNote | undefined;
}

/** Key of the report of the end. */
export const END_KEY = '~end';

export interface ReportInput {
  readonly shadow: ShadowDefinition;
  readonly report: Report;
  /** Digest of the report as it was given. */
  readonly reportDigest: string;
  readonly lostCount: number;
  /** What did not fit at the opening. */
  readonly misfit: Observation['misfit'];
  readonly state: StreamState;
  readonly content: StreamContent;
  readonly checkpoint: CheckpointId;
  readonly atMs: number;
  readonly digest: Digest;
}

/** The events for a report. Throws `InvalidError` for a report that can't be recorded at all. */
export function draftsOfReport(given: ReportInput): readonly Draft[] {
  try {
    return draftsBy(given, true, given.misfit);
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error;
    return draftsBy(given, false, given.misfit ?? misfitOf(error));
  }
}

export const misfitOf = ({ code, message }: InvalidError): NonNullable<Observation['misfit']> => ({ code, message });

function draftsBy(given: ReportInput, isStrict: boolean, misfit: Observation['misfit']): readonly Draft[] {
  const { shadow, report, state, content, checkpoint, digest } = given;
  const definition = definitionFor(shadow, report, state, isStrict);
  const task = taskOf(report, state, content, digest);
  const step = definition.steps.get(report.step);
  if (step === undefined) {
    throw new InvalidError('task-unknown', `${definition.name} has no step '${report.step}'.`, { step: report.step });
  }
  const input = report.input === undefined ? content.inputOf(task.id) : toJson(report.input, 'input');
  const drafts = commitDrafts({
    definition,
    step,
    task,
    input,
    result: resultOf(report, task, content),
    notes: [noteOf(observationOf(given, misfit), given.atMs)],
    content,
    isLast: false,
    checkpoint,
    sequence: (state.head.sequence + 1) as Sequence,
    parent: state.head.checkpoint,
    digest,
    nowMs: given.atMs,
  });
  return report.ends === 'failed' ? [...drafts, failed(report.error)] : drafts;
}

const UNREPORTED: ErrorNote = { name: 'Error', message: 'The agent failed without saying why.' };

const failed = (error: ErrorNote = UNREPORTED): Draft => ({
  type: 'WorkflowFailed',
  control: { code: error.code ?? 'agent-failed', task: null },
  payload: { error },
});

/** An older reporter beside newer ones uses their version. */
function definitionFor(shadow: ShadowDefinition, report: Report, state: StreamState, isStrict: boolean): Definition {
  const named = [report.step, ...(report.next ?? []).map(({ step }) => step)];
  const version = state.pinned ? state.version : Math.max(shadow.version, state.version);
  return definitionOfShadow({ ...shadow, version }, named, isStrict);
}

/** The pending task that was done: of this step and input, or else of this step, or else the task for unannounced work. */
function taskOf(report: Report, { frontier }: StreamState, content: StreamContent, digest: Digest): TaskState {
  const named = [...frontier.tasks].filter(({ step }) => step === report.step);
  const wanted = report.input === undefined ? undefined : digestOf(digest, toJson(report.input, 'input'));
  const exact = named.find(({ id }) => digestOf(digest, content.inputOf(id)) === wanted);
  const task = exact ?? named[0] ?? frontier.tasks.find(({ step }) => step === REPORT_STEP);
  if (task !== undefined) return task;
  throw new InvalidError('shadow-closed', 'The workflow was not opened as a shadow.');
}

function resultOf(report: Report, task: TaskState, content: StreamContent): StepResult {
  const { next = [], change, belief, output, ends, lastAction, tokens, costMicros } = report;
  const again = task.step === REPORT_STEP && ends === undefined ? [{ step: REPORT_STEP, input: null }] : [];
  const after = change === undefined ? belief : merged(content.belief, change);
  return {
    next: [...next.map(requestOf), ...again],
    ...(after === undefined ? {} : { belief: () => after }),
    ...(ends === 'done' ? { done: output ?? null } : { output }),
    lastAction: lastAction ?? (ends === undefined ? report.step : `agent ${ends}`),
    tokens,
    costMicros,
  };
}

function merged(belief: Json, change: object): unknown {
  if (belief === null || Array.isArray(belief)) return change;
  return typeof belief === 'object' ? { ...belief, ...change } : change;
}

function observationOf(given: ReportInput, misfit: Observation['misfit']): Observation {
  const { report, digest } = given;
  const { key, belief, output, pending } = report;
  return {
    key,
    report: given.reportDigest,
    belief: belief === undefined ? null : fingerprint(toJson(belief, 'belief'), digest),
    pending: pending === undefined ? null : [...pending].sort(),
    output: output === undefined ? null : digestOf(digest, toJson(output, 'output')),
    misfit,
    lostCount: given.lostCount,
  };
}
