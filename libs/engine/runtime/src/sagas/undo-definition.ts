/**
 * Owns the workflow that compensates another: `{definition}~undo`, with its own chain. Its plan reads what the frozen workflow did and adds
 * one task for each item to compensate. They run one after the other, newest first, and a last task completes the undo. It calls no models.
 *
 * U1 The plan follows from rows of the frozen workflow alone, so every attempt at a plan gives the same plan.
 * U2 A compensation that keeps failing waits for a person, in the undo and not in the workflow that it compensates.
 */

import {
  effectKey,
  FencedError,
  isClosed,
  type Json,
  UNDO_SUFFIX,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import {
  type CompensatedDefinition,
  type Definition,
  type EffectDefinition,
  EffectError,
  errorNote,
  OWN_DEFINITION,
  ownStep,
  ParkError,
  type StepContext,
  type StepDefinition,
  type StepResult,
  type TaskRequest,
  unchangedUpcasters,
} from '../definition/index.ts';
import { DEFAULT_RETRY, type RetryPolicy } from '../kernel/index.ts';
import {
  type CompensationItem,
  type CompensationReads,
  compensationItems,
  effectToUndo,
  stepToUndo,
  type UndoAfter,
} from './compensation-items.ts';
import { missingUndo, stepUndoOperation, type UndoEffects, undoEffects, undoOperation } from './undo-effects.ts';

/** Most items that one plan adds to an undo; and most uncompensated items that the undo lists. */
const UNDO_PAGE_COUNT = 200;
const UNCOMPENSATED_MAX_COUNT = 1_000;

/** Input of an undo workflow. */
export interface UndoInput {
  readonly workflow: WorkflowId;
  /** Of a reset: only what came after this position, or belongs to one of the tasks that were pending there. */
  readonly after?: UndoAfter | undefined;
}

/** An effect that stays done because no compensation is registered for it. */
export interface UncompensatedItem {
  readonly operation: string;
  readonly key: string;
  readonly outcome: 'done' | 'unknown';
}

/** Output of an undo workflow: `left` lists the first of the uncompensated items. */
export interface UndoOutput {
  readonly undone: number;
  readonly leftCount: number;
  readonly left: readonly UncompensatedItem[];
}

export type UndoTask =
  | Pick<CompensationItem & { kind: 'effect' }, 'kind' | 'task' | 'key' | 'operation' | 'outcome'>
  | Pick<CompensationItem & { kind: 'step' }, 'kind' | 'sequence' | 'step'>;

/** Failing reads are retried for some minutes; then the undo is parked for a person. */
const READ_RETRY: RetryPolicy = { ...DEFAULT_RETRY, attempts: 15, firstDelayMs: 100 };

/** The undo of a definition, for processes that run the definition. To build an opening, effects and steps may be empty. */
export function undoDefinition(of: CompensatedDefinition, rows: CompensationReads): Definition {
  const effects = undoEffects(of);
  const planning: Planning = { of, rows, effects };
  return {
    ...OWN_DEFINITION,
    name: `${of.name}${UNDO_SUFFIX}`,
    version: of.version,
    hasSecrets: of.hasSecrets,
    onSecret: of.onSecret,
    undoFor: (view) => undoDefinition(view(of), rows),
    placement: 'exclusive',
    effects: [...effects.values()],
    upcasters: unchangedUpcasters(of),
    begin: () => ({ belief: { undone: 0, leftCount: 0, left: [] }, next: [planTask(null)] }),
    steps: new Map([
      [
        PLAN_STEP,
        step(PLAN_STEP, ['undo', PLAN_STEP, 'finish'], (ctx, input) =>
          plan(planning, ctx, input as unknown as PlanInput),
        ),
      ],
      ['undo', step('undo', [], (ctx, input) => undo(planning, ctx, input as unknown as UndoTask))],
      ['finish', step('finish', [], (ctx) => ({ done: ctx.belief, lastAction: finishWords(ctx.belief) }))],
    ]),
  };
}

/** The definitions, the undos of their workflows, and the undos of those undos: everything that a process must run. */
export function withUndos(definitions: readonly Definition[], rows: CompensationReads): readonly Definition[] {
  return definitions.flatMap((definition) => {
    const undoFor = undoDefinition(definition, rows);
    return [definition, undoFor, undoDefinition(undoFor, rows)];
  });
}

interface Planning {
  readonly of: CompensatedDefinition;
  readonly rows: CompensationReads;
  readonly effects: UndoEffects;
}

/** The plan covers items before this position; null: all. */
export interface PlanInput {
  readonly below: number | null;
}

/** The step of the undo that finds the items to compensate. */
export const PLAN_STEP = 'plan';

const planTask = (below: number | null, after: TaskRequest['after'] = []): TaskRequest => ({
  step: PLAN_STEP,
  input: { below } satisfies PlanInput,
  after,
});

const step = (name: string, mayAdd: readonly string[], run: StepDefinition['run']): StepDefinition =>
  ownStep(name, mayAdd, READ_RETRY, (ctx, input) => parkWhenStuck(ctx, async () => run(ctx, input)));

const compensatedOf = (ctx: StepContext): WorkflowId => (ctx.input as unknown as UndoInput).workflow;

/** Adds one task for each item, each after the one before it, and then the next plan or the end. */
async function plan(planning: Planning, ctx: StepContext, { below }: PlanInput): Promise<StepResult> {
  const { of, rows, effects } = planning;
  const workflow = compensatedOf(ctx);
  const row = await rows.workflow(workflow);
  const { after: since } = ctx.input as unknown as UndoInput;
  const isEnded = row !== undefined && (since === undefined ? row.status === 'compensating' : isClosed(row));
  if (!isEnded) {
    // Rows that are being rebuilt may not show it yet.
    throw new UnavailableError('not-frozen', `The rows don't show that ${workflow} is being compensated (yet).`, {
      workflow,
    });
  }
  const steps = [...of.steps.values()].filter(({ compensate }) => compensate !== undefined).map(({ name }) => name);
  const items = await compensationItems(rows, workflow, steps, { below, after: since }, row.position);
  const page = items.slice(0, UNDO_PAGE_COUNT);
  const left = page.flatMap((item) => (isNotCompensable(item, of, effects) ? [uncompensated(item)] : []));
  for (const { operation, key, outcome } of left) ctx.log('left', { operation, key, outcome });
  const next: TaskRequest[] = [];
  for (const item of page) {
    if (isNotCompensable(item, of, effects)) continue;
    const before = next.at(-1);
    next.push({ step: 'undo', input: undoTask(item), after: before === undefined ? [] : [before] });
  }
  const last = next.at(-1);
  const after = last === undefined ? [] : [last];
  const count = next.length;
  next.push(
    items.length > page.length ? planTask(page.at(-1)!.position, after) : { step: 'finish', input: null, after },
  );
  return {
    next,
    belief: (belief) => withUncompensated(belief as unknown as UndoOutput, left),
    lastAction: `${count} to undo, ${left.length} left as they are`,
  };
}

type EffectItem = CompensationItem & { kind: 'effect' };

/** The effect is known, and has no compensation for this outcome. An unknown effect is left to a person instead. */
function isNotCompensable(item: CompensationItem, of: CompensatedDefinition, effects: UndoEffects): item is EffectItem {
  if (item.kind === 'step' || effects.has(undoOperation(item.operation, item.outcome))) return false;
  return of.effects.some(({ operation }) => operation === item.operation);
}

const uncompensated = ({ operation, key, outcome }: EffectItem): UncompensatedItem => ({ operation, key, outcome });

const withUncompensated = (belief: UndoOutput, left: readonly UncompensatedItem[]): UndoOutput => ({
  ...belief,
  leftCount: belief.leftCount + left.length,
  left: [...belief.left, ...left].slice(0, UNCOMPENSATED_MAX_COUNT),
});

function undoTask(item: CompensationItem): UndoTask {
  if (item.kind === 'step') return { kind: 'step', sequence: item.sequence, step: item.step };
  const { kind, task, key, operation, outcome } = item;
  return { kind, task, key, operation, outcome };
}

async function undo(planning: Planning, ctx: StepContext, task: UndoTask): Promise<StepResult> {
  const effect = undoEffectFor(planning, task);
  await ctx.effect(effect, await argumentOf(planning.rows, compensatedOf(ctx), task));
  return {
    belief: (belief) => ({ ...(belief as object), undone: (belief as unknown as UndoOutput).undone + 1 }),
    lastAction: `undid ${task.kind === 'effect' ? task.operation : `step ${task.step} of checkpoint #${task.sequence}`}`,
  };
}

function undoEffectFor({ effects }: Planning, task: UndoTask): EffectDefinition {
  const operation = operationOf(task);
  const found = effects.get(operation);
  if (found !== undefined) return found;
  return task.kind === 'effect' ? missingUndo(task.operation, task.outcome) : missingUndo(`step.${task.step}`, 'done');
}

const operationOf = (task: UndoTask): string =>
  task.kind === 'effect' ? undoOperation(task.operation, task.outcome) : stepUndoOperation(task.step);

async function argumentOf(rows: CompensationReads, workflow: WorkflowId, task: UndoTask): Promise<Json> {
  if (task.kind === 'effect') return effectToUndo(rows, workflow, task.task, task.key, task.outcome);
  const { input, output } = await stepToUndo(rows, workflow, task.sequence);
  return { input, output };
}

/** U2: a failure that no retry can repair goes to a person, with the effect's key, so that they may report it as done by hand. */
async function parkWhenStuck<T>(ctx: StepContext, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (error) {
    if (ctx.signal.aborted || error instanceof FencedError || error instanceof ParkError || ctx.mayRetry(error)) {
      throw error;
    }
    const isCall = error instanceof EffectError;
    const key = isCall ? effectKey(ctx.workflow, ctx.task, String(error.details.operation), 0) : null;
    throw new ParkError(
      'compensation-stuck',
      `The compensation of ${compensatedOf(ctx)} is stuck: ${errorNote(error).message}`,
      key,
      { undoes: compensatedOf(ctx), attempts: ctx.attempt, lastError: errorNote(error).message },
    );
  }
}

const finishWords = (belief: Json): string => {
  const { undone, leftCount } = belief as unknown as UndoOutput;
  return `${undone} compensated, ${leftCount} left as they are`;
};
