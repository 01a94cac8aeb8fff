/**
 * Owns translating a run's answers to the terms of the files: steps, log, hand-overs, done keys. It knows pipelines' records, and shows any
 * other workflow's checkpoints as well as it can. Pure.
 */

import type { Answer } from '@tidemark/client';
import type { Json } from '@tidemark/core';
import { describeEvent, ENDINGS } from '@tidemark/core/timeline';
import { checksumOf, type DoneRecord, handoffSchema, type NamedHandoff, stepRecordIn } from '@tidemark/sdk';
import { actionEntry, type Effect, type LogEntry, toolCallIds } from './actions.ts';
import type { LogLine, RunState } from './formats.ts';

export type Workflow = Answer<'GET /v1/workflows'>['workflows'][number];
export type Checkpoint = Answer<'GET /v1/workflows/{workflow}/checkpoints'>['checkpoints'][number];
export type Note = Answer<'GET /v1/workflows/{workflow}/notes'>['events'][number];
export type Task = Answer<'GET /v1/workflows/{workflow}/tasks'>['tasks'][number];

/** What others did of the run before it was imported. */
export interface Imported {
  /** It skips these, each in its turn. */
  readonly steps: readonly (DoneRecord & { readonly at: string })[];
  readonly tokens: number;
}

export interface RunParts {
  readonly row: Workflow;
  /** From sequence 1 on. */
  readonly checkpoints: readonly Checkpoint[];
  readonly notes: readonly Note[];
  readonly tasks: readonly Task[];
  /** By task. */
  readonly effects: ReadonlyMap<string, readonly Effect[]>;
  /** All steps of its definition in order, where it is known. */
  readonly stepNames?: readonly string[] | undefined;
  /** Digest of its input, while rows have its opening. */
  readonly input: string | undefined;
  readonly imported: Imported;
}

/** One committed step, or one that the run will skip. */
export interface DoneStep {
  /** Unique in the run: the step, with its task where the step was done before. */
  readonly name: string;
  readonly step: string;
  /** Null: it is known only when the run skips it. */
  readonly key: string | null;
  readonly output: Json;
  readonly checksum: string;
  /** Digest of the run's input; undefined for a step of no pipeline. */
  readonly input: string | undefined;
  /** Undefined: it was done before, by somebody who doesn't say. */
  readonly startedAtMs: number | undefined;
  readonly finishedAtMs: number;
  /** When the run had it; 0: it will skip it. */
  readonly committedAtMs: number;
  /** Why it failed permanently, where the run ended with its last success instead. */
  readonly failure: string | null;
  /** It was done before, by another run or program. */
  readonly isSkipped: boolean;
}

export interface RunView {
  readonly workflow: string;
  readonly definition: string;
  readonly tenant: string;
  readonly position: number;
  readonly status: RunState['status'];
  readonly currentStep: string | null;
  /** The step that failed permanently, if it is known. */
  readonly failedStep: string | undefined;
  readonly updatedAtMs: number;
  readonly tokens: number;
  /** Digest of its input. */
  readonly input: string | undefined;
  /** Tokens that others say they spent on it before it was imported. */
  readonly importedTokens: number;
  readonly stepNames: readonly string[];
  readonly done: readonly DoneStep[];
  /** Steps with pending tasks, and which of these can run now. */
  readonly pending: readonly { readonly step: string; readonly isReady: boolean }[];
  readonly handoffs: readonly NamedHandoff[];
  readonly log: readonly LogEntry[];
}

/** A signal of this name is a hand-over from outside. */
export const HANDOFF_SIGNAL = 'handoff';

export function runView({ row, checkpoints, notes, tasks, effects, stepNames, input, imported }: RunParts): RunView {
  const seen = checkpoints.filter(({ position }) => position <= row.position);
  const committed = doneSteps(row, seen);
  const doneTasks = new Set(seen.map(({ task }) => task));
  const failure = committed.find((step) => step.failure !== null)?.step;
  const status = failure === undefined ? statusOf(row) : 'failed';
  const failedStep = failure ?? (status === 'failed' ? failedIn(seen, committed, stepNames) : undefined);
  const skips = importedSteps(imported, committed);
  const done = [...committed, ...skips];
  const isSkipped = (name: string): boolean => skips.some(({ step }) => step === name);
  const pending = tasks.filter(({ task, step }) => !doneTasks.has(task) && !isSkipped(step)).map(pendingStep);
  const toDo = pending.find(({ isReady }) => isReady) ?? pending[0];
  const afterSkips =
    skips.length === 0 ? undefined : stepNames?.find((name) => !done.some(({ step }) => step === name));
  const stepOf = new Map([
    ...checkpoints.map((one) => [one.task, one.step_definition_ref] as const),
    ...tasks.map((one) => [one.task, one.step] as const),
  ]);
  const calls = toolCallIds([...effects.values()].flat());
  const actionsOf = (task: string | null, step: string | null): readonly LogEntry[] =>
    (effects.get(task ?? '') ?? []).map((effect) => actionEntry(step, effect, calls));
  const reported = [
    ...seen.map((checkpoint) =>
      checkpointReported(checkpoint, actionsOf(checkpoint.task, checkpoint.step_definition_ref)),
    ),
    ...notes.filter((note) => note.position <= row.position).map(noteReported),
  ];
  const inOrder = reported.sort((a, b) => a.position - b.position);
  return {
    workflow: row.workflow,
    definition: row.definition,
    tenant: row.tenant,
    position: row.position,
    status: skips.length > 0 && status === 'new' ? 'running' : status,
    currentStep: failedStep ?? toDo?.step ?? afterSkips ?? null,
    failedStep,
    updatedAtMs: Date.parse(row.updated_at),
    tokens: row.tokens,
    input: input ?? committed[0]?.input,
    importedTokens: imported.tokens,
    stepNames: [
      ...new Set([...(stepNames ?? []), ...done.map(({ step }) => step), ...pending.map(({ step }) => step)]),
    ],
    done,
    pending,
    handoffs: inOrder.flatMap(({ handoffs }) => handoffs),
    log: withActions(
      inOrder.flatMap(({ lines }) => lines),
      // Of steps under way, and of those that never succeeded.
      [...effects.keys()]
        .filter((task) => !doneTasks.has(task))
        .flatMap((task) => actionsOf(task, stepOf.get(task) ?? failedStep ?? null)),
    ),
  };
}

const importedSteps = ({ steps }: Imported, committed: readonly DoneStep[]): readonly DoneStep[] =>
  steps
    .filter(({ step }) => !committed.some((one) => one.step === step))
    .map(({ step, output, checksum, input, at }) => ({
      ...{ name: step, step, key: null, output: output as Json, checksum, input },
      ...{ startedAtMs: undefined, finishedAtMs: Date.parse(at), committedAtMs: 0, failure: null, isSkipped: true },
    }));

function doneSteps(row: Workflow, checkpoints: readonly Checkpoint[]): readonly DoneStep[] {
  const names = new Set<string>();
  let beforeMs = Date.parse(row.opened_at);
  return checkpoints.map((checkpoint) => {
    const { output_state: left = null, log = [] } = checkpoint;
    const record = stepRecordIn(left);
    const step = checkpoint.step_definition_ref ?? '';
    const name = names.has(step) ? `${step}-${checkpoint.task}` : step;
    names.add(step);
    const startedAtMs = log[0] === undefined ? beforeMs : Date.parse(log[0].at);
    const committedAtMs = Date.parse(checkpoint.at);
    beforeMs = committedAtMs;
    const skipped = record?.skipped;
    const output = record === undefined ? left : record.output;
    return {
      name,
      step,
      key: record?.key ?? `${step}_${checkpoint.task}`,
      output,
      checksum: record?.checksum ?? checksumOf(output),
      input: record?.input,
      startedAtMs: skipped == null ? startedAtMs : undefined,
      finishedAtMs: skipped?.atMs ?? committedAtMs,
      committedAtMs,
      failure: record?.failure ?? null,
      isSkipped: skipped != null,
    };
  });
}

const pendingStep = ({ step, state }: Task): RunView['pending'][number] => ({ step, isReady: state === 'ready' });

const STATUSES: Readonly<Record<Workflow['status'], RunState['status']>> = {
  open: 'running',
  parked: 'running',
  compensating: 'failed',
  compensated: 'failed',
  completed: 'completed',
  failed: 'failed',
};

const statusOf = (row: Workflow): RunState['status'] =>
  row.status === 'open' && row.sequence_number === 0 && row.holder === null ? 'new' : STATUSES[row.status];

/** A run that has ended doesn't name its last task's step; in a pipeline it follows from the order. */
function failedIn(
  checkpoints: readonly Checkpoint[],
  done: readonly DoneStep[],
  stepNames: readonly string[] = [],
): string | undefined {
  const isPipeline = checkpoints.every(({ output_state: left = null }) => stepRecordIn(left) !== undefined);
  return isPipeline ? stepNames[done.length] : undefined;
}

interface Reported {
  readonly position: number;
  readonly lines: readonly LogEntry[];
  readonly handoffs: readonly NamedHandoff[];
}

function checkpointReported(checkpoint: Checkpoint, actions: readonly LogEntry[]): Reported {
  const { log = [], output_state: left = null, step_definition_ref: step } = checkpoint;
  const record = stepRecordIn(left);
  const notes = log.map(({ at, action, detail }) => entry(noteLine(step, at, action, detail)));
  const ofActions = actions.reduce((sum, { line: { tokens } }) => sum + (tokens ?? 0), 0);
  const line: LogLine = {
    ts: checkpoint.at,
    step,
    action: 'done',
    tokens: Math.max(0, checkpoint.tokens - ofActions),
    step_tokens: checkpoint.tokens,
    result: checkpoint.last_action,
    sequence: checkpoint.sequence_number,
    checkpoint_id: checkpoint.checkpoint_id,
    status: checkpoint.status,
    supersedes: checkpoint.supersedes,
    memory_scope_snapshot: checkpoint.memory_scope_snapshot,
    ...(record === undefined ? {} : { key: record.key, checksum: record.checksum }),
  };
  const handoffs = log.flatMap(({ action, detail }) => (action === 'handoff' ? named(detail) : []));
  return { position: checkpoint.position, lines: [...withActions(notes, actions), entry(line)], handoffs };
}

const entry = (line: LogLine): LogEntry => ({ line, isAction: false });

/** Each action before its consequences; lines keep their order. */
function withActions(lines: readonly LogEntry[], actions: readonly LogEntry[]): readonly LogEntry[] {
  const merged = [...lines];
  for (const action of actions) {
    const at = merged.findIndex(({ line }) => Date.parse(line.ts) > Date.parse(action.line.ts));
    merged.splice(at === -1 ? merged.length : at, 0, action);
  }
  return merged;
}

/** Tokens are counted with model calls and with the rest of a step at its end, so that a sum over the lines of all steps is the run's total. */
function noteLine(step: string | null, ts: string, action: string, detail: Json | undefined): LogLine {
  const isObject = typeof detail === 'object' && detail !== null && !Array.isArray(detail);
  const { result = null, ...fields } = isObject ? (detail as { readonly [field: string]: Json }) : {};
  const line = { ts, step, action, tokens: 0, result: isObject ? result : (detail ?? null) };
  return { ...line, ...fields, ...line } as LogLine;
}

/** The action of a line for what happened, which of its facts is the result, and which stand beside that. */
const ACTIONS: Readonly<Record<string, readonly [action: string, result: string, ...more: string[]]>> = {
  step_failed: ['failed', 'message', 'task', 'attempt'],
  signal: ['signal', 'name'],
  parked: ['waits', 'message'],
  decided: ['decided', 'resolution', 'by'],
  cancelling: ['cancelled', 'why', 'by'],
  paused: ['paused', 'why', 'by'],
  resumed_by: ['resumed', 'why', 'by'],
  lease_lost: ['interrupted', 'reason'],
};

function noteReported(note: Note): Reported {
  const { position, at: ts, payload } = note;
  const what = describeEvent(note);
  if (what === undefined) return { position, lines: [], handoffs: [] };
  const { kind, facts = {}, title, words, about } = what;
  const { value } = (payload ?? {}) as { readonly value?: Json };
  const handoffs = kind === 'signal' && facts.name === HANDOFF_SIGNAL ? named(value) : [];
  const [action, result = '', ...more] = ACTIONS[kind] ?? (ENDINGS.has(kind) ? ['ended'] : []);
  if (action === undefined) return { position, lines: [], handoffs };
  const end =
    kind === 'failed' ? `failed: ${words}` : about === undefined ? title.toLowerCase() : `continues as ${about}`;
  const beside = Object.fromEntries(more.map((name) => [name, facts[name] ?? null]));
  const line = { ts, step: null, action, tokens: 0, result: facts[result] ?? end, ...beside };
  return { position, lines: [entry(line as LogLine)], handoffs };
}

function named(detail: Json | undefined): readonly NamedHandoff[] {
  const parsed = handoffSchema.safeParse(detail);
  return parsed.success ? [parsed.data] : [];
}
