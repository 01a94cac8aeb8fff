/**
 * Owns what the rows of a run say, in the words of the files: steps, log, hand-overs, keys that are done. It knows pipelines'
 * records, and makes the best of any other workflow's checkpoints. Pure: rows in, data out.
 */

import { decodePayload } from '@tidemark/codec';
import { isoTime, isUnblocked, type Json, type StreamStatus, type TaskState, type TenantId } from '@tidemark/core';
import type { CheckpointRow, EventRow, TaskRow, WorkflowSummary } from '@tidemark/ports';
import { checksumOf, handoffSchema, type NamedHandoff, stepRecordIn } from '@tidemark/sdk';
import type { LogLine, RunState } from './formats.ts';

export interface RunRows {
  readonly row: WorkflowSummary;
  /** From sequence 1 on. */
  readonly checkpoints: readonly CheckpointRow[];
  readonly events: readonly EventRow[];
  readonly tasks: readonly TaskRow[];
  /** All steps of its definition in order, where it is known. */
  readonly stepNames?: readonly string[] | undefined;
}

/** One committed step. */
export interface DoneStep {
  /** Names it among all of the run: the step, with its task where the step was done before. */
  readonly name: string;
  readonly step: string;
  readonly key: string;
  readonly output: Json;
  readonly checksum: string;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  /** Why it failed for good, where the run ended with its last success instead. */
  readonly failure: string | null;
}

export interface RunView {
  readonly workflow: string;
  readonly definition: string;
  readonly tenant: TenantId;
  readonly position: number;
  readonly status: RunState['status'];
  readonly currentStep: string | null;
  /** The step that failed for good, where that can be told. */
  readonly failedStep: string | undefined;
  readonly updatedAtMs: number;
  readonly tokens: number;
  readonly stepNames: readonly string[];
  readonly done: readonly DoneStep[];
  /** Steps with pending tasks, and which of these can run now. */
  readonly pending: readonly { readonly step: string; readonly isReady: boolean }[];
  readonly handoffs: readonly NamedHandoff[];
  readonly log: readonly LogLine[];
}

/** A signal of this name is a hand-over from outside. */
export const HANDOFF_SIGNAL = 'handoff';

export function runView({ row, checkpoints, events, tasks, stepNames }: RunRows): RunView {
  const seen = checkpoints.filter(({ position }) => position <= row.position);
  const done = doneSteps(row, seen);
  const doneTasks = new Set(seen.map(({ task }) => task));
  const pending = tasks.filter(({ task }) => !doneTasks.has(task)).map(pendingStep);
  const failure = done.find((step) => step.failure !== null)?.step;
  const status = failure === undefined ? statusOf(row) : 'failed';
  const failedStep = failure ?? (status === 'failed' ? failedIn(seen, done, stepNames) : undefined);
  const told = [
    ...seen.map(checkpointTold),
    ...events.filter((event) => event.position <= row.position).map(eventTold),
  ];
  const inOrder = told.sort((a, b) => a.position - b.position);
  return {
    workflow: row.workflow,
    definition: row.definition,
    tenant: row.tenant,
    position: row.position,
    status,
    currentStep: failedStep ?? pending.find(({ isReady }) => isReady)?.step ?? pending[0]?.step ?? null,
    failedStep,
    updatedAtMs: row.updatedAtMs,
    tokens: row.tokens,
    stepNames: [
      ...new Set([...(stepNames ?? []), ...done.map(({ step }) => step), ...pending.map(({ step }) => step)]),
    ],
    done,
    pending,
    handoffs: inOrder.flatMap(({ handoffs }) => handoffs),
    log: inOrder.flatMap(({ lines }) => lines),
  };
}

function doneSteps(row: WorkflowSummary, checkpoints: readonly CheckpointRow[]): readonly DoneStep[] {
  const names = new Set<string>();
  let beforeMs = row.openedAtMs;
  return checkpoints.map((checkpoint) => {
    const { output: left, log } = decodePayload('CheckpointCommitted', checkpoint.payload);
    const record = stepRecordIn(left);
    const step = checkpoint.step ?? '';
    const name = names.has(step) ? `${step}-${checkpoint.task}` : step;
    names.add(step);
    const startedAtMs = log?.[0]?.atMs ?? beforeMs;
    beforeMs = checkpoint.atMs;
    const output = record === undefined ? left : record.output;
    return {
      name,
      step,
      key: record?.key ?? `${step}_${checkpoint.task}`,
      output,
      checksum: record?.checksum ?? checksumOf(output),
      startedAtMs,
      finishedAtMs: checkpoint.atMs,
      failure: record?.failure ?? null,
    };
  });
}

function pendingStep(row: TaskRow): RunView['pending'][number] {
  return { step: row.step, isReady: isUnblocked(JSON.parse(row.state) as TaskState) };
}

const STATUSES: Readonly<Record<StreamStatus, RunState['status']>> = {
  open: 'running',
  parked: 'running',
  compensating: 'failed',
  compensated: 'failed',
  completed: 'completed',
  failed: 'failed',
};

const statusOf = (row: WorkflowSummary): RunState['status'] =>
  row.status === 'open' && row.sequence === 0 && row.holder === null ? 'new' : STATUSES[row.status];

/** Rows of a run that has ended don't name its last task's step; in a pipeline it follows from the order. */
function failedIn(
  checkpoints: readonly CheckpointRow[],
  done: readonly DoneStep[],
  stepNames: readonly string[] = [],
): string | undefined {
  const isPipeline = checkpoints.every(
    ({ payload }) => stepRecordIn(decodePayload('CheckpointCommitted', payload).output) !== undefined,
  );
  return isPipeline ? stepNames[done.length] : undefined;
}

interface Told {
  readonly position: number;
  readonly lines: readonly LogLine[];
  readonly handoffs: readonly NamedHandoff[];
}

function checkpointTold(row: CheckpointRow): Told {
  const { log, output } = decodePayload('CheckpointCommitted', row.payload);
  const record = stepRecordIn(output);
  const notes = (log ?? []).map(({ atMs, action, detail }) => noteLine(row.step, atMs, action, detail));
  const line: LogLine = {
    ts: isoTime(row.atMs),
    step: row.step,
    action: 'done',
    tokens: row.tokens,
    result: row.lastAction,
    sequence: row.sequence,
    ...(record === undefined ? {} : { key: record.key, checksum: record.checksum }),
  };
  const handoffs = (log ?? []).flatMap(({ action, detail }) => (action === 'handoff' ? named(detail) : []));
  return { position: row.position, lines: [...notes, line], handoffs };
}

/** Tokens of a step are counted with its end alone, so that a sum over all lines is the run's total. */
function noteLine(step: string | null, atMs: number, action: string, detail: Json | undefined): LogLine {
  const isObject = typeof detail === 'object' && detail !== null && !Array.isArray(detail);
  const { result = null, ...fields } = isObject ? (detail as { readonly [field: string]: Json }) : {};
  const line = { ts: isoTime(atMs), step, action, tokens: 0, result: isObject ? result : (detail ?? null) };
  return { ...line, ...fields, ...line } as LogLine;
}

function eventTold(row: EventRow): Told {
  const control = JSON.parse(row.control) as Readonly<Record<string, Json>>;
  const at = { position: row.position, handoffs: [] as readonly NamedHandoff[] };
  const line = (action: string, result: Json, more: Readonly<Record<string, Json>> = {}): Told => ({
    ...at,
    lines: [{ ts: isoTime(row.atMs), step: null, action, tokens: 0, result, ...more } as LogLine],
  });
  switch (row.type) {
    case 'StepFailed': {
      const { message } = decodePayload(row.type, row.payload).error;
      return line('failed', message, { task: control.task ?? null, attempt: control.attempt ?? null });
    }
    case 'SignalReceived': {
      const handoffs = control.name === HANDOFF_SIGNAL ? named(decodePayload(row.type, row.payload).value) : [];
      return { ...line('signal', control.name ?? null), handoffs };
    }
    case 'WorkflowParked':
      return line('waits', decodePayload(row.type, row.payload).error.message);
    case 'WorkflowFailed':
      return line('ended', `failed: ${decodePayload(row.type, row.payload).error.message}`);
    case 'WorkflowCompleted':
      return line('ended', control.continued === undefined ? 'completed' : `goes on as ${control.continued}`);
    case 'WorkflowTerminated':
      return line('ended', `failed: ${decodePayload(row.type, row.payload).error.message}`);
    case 'ApprovalGiven':
      return line('decided', control.approved === true ? 'approved' : 'rejected', { by: control.by ?? null });
    case 'CancelRequested':
      return line('cancelled', decodePayload(row.type, row.payload).why, { by: control.by ?? null });
    case 'PauseRequested':
      return line('paused', decodePayload(row.type, row.payload).why, { by: control.by ?? null });
    case 'ResumeRequested':
      return line('resumed', decodePayload(row.type, row.payload).why, { by: control.by ?? null });
    case 'ApprovalDecided':
      return line('decided', control.resolution ?? null, { by: control.by ?? null });
    case 'LeaseRevoked':
      return line('interrupted', control.reason ?? null);
    default:
      return { ...at, lines: [] };
  }
}

function named(detail: Json | undefined): readonly NamedHandoff[] {
  const parsed = handoffSchema.safeParse(detail);
  return parsed.success ? [parsed.data] : [];
}
