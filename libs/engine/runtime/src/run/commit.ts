/**
 * Owns turning a step's result into the drafts of its checkpoint. It enforces the declared control flow, validates values, and writes
 * belief as a delta or a snapshot. Pure, but for user code (schemas and the belief update) and the ids and digests that it is given.
 */

import { type LogNote, type Payloads, toJson } from '@tidemark/codec';
import {
  type CheckpointId,
  type Controls,
  DROPPED_TASKS_MAX_COUNT,
  diff,
  type EffectState,
  InvalidError,
  isOpen,
  type Json,
  mayDrop,
  plusSpend,
  type Sequence,
  type Spend,
  type StreamState,
  type TaskId,
  type TaskState,
} from '@tidemark/core';
import type { Clock, Digest } from '@tidemark/ports';
import { type CommitContext, endsHistory, NO_CONTEXT } from '../agent/index.ts';
import { type Definition, ParkError, type StepDefinition, type StepResult } from '../definition/index.ts';
import type { StreamContent } from '../history/index.ts';
import { digestOf, storableText, TASKS_DROPPED } from '../kernel/index.ts';
import type { Draft } from '../lease/index.ts';
import { drawUpNext, type Next } from './continuing.ts';
import { declareTasks, NO_CHILD } from './declare-tasks.ts';
import { childrenOf, withChildren } from './opening.ts';

export interface CommitInput {
  readonly definition: Definition;
  readonly step: StepDefinition;
  readonly task: TaskState;
  readonly input: Json;
  readonly result: StepResult;
  readonly notes: readonly LogNote[];
  readonly content: StreamContent;
  /** The current state of the workflow; absent: no task waits for a child, and it can't continue as new. */
  readonly state?: StreamState | undefined;
  /** Whether no other task is pending. */
  readonly isLast: boolean;
  readonly checkpoint: CheckpointId;
  readonly sequence: Sequence;
  readonly parent: CheckpointId | null;
  readonly digest: Digest;
  /** The time from which timers count, by the holder's clock. */
  readonly nowMs: number;
  /** When the attempt began, by the same clock. */
  readonly startedAtMs?: number | undefined;
  /** The context that the checkpoint adds; absent: none. */
  readonly context?: CommitContext | undefined;
}

/**
 * Returns the checkpoint's event, followed by the workflow's completion if the step ends it or continues it as new. It does not change
 * `content` (see `followStaged`). Throws `InvalidError` for a result that can't be committed, and what the definition's schemas throw.
 */
export function commitDrafts(given: CommitInput): readonly Draft[] {
  const { definition, step, task, result, content, sequence, digest, context = NO_CONTEXT } = given;
  const { spent } = context;
  const open = task.effects.find(isOpen);
  if (open !== undefined) {
    throw new InvalidError(
      'effect-open',
      `Step ${step.name} ended while the outcome of ${open.key} is open. It is retried once the effect's outcome is decided.`,
      { key: open.key },
    );
  }
  const declared = declareTasks(definition, step, result.next ?? [], sequence, given.nowMs);
  const output = result.output === undefined ? null : step.parseOutput(result.output);
  const done = result.done === undefined ? undefined : definition.parseOutput(result.done);
  const clock = { nowMs: () => given.nowMs } as Clock;
  const next = nextOf(given, clock);
  const drops = dropsOf(given);
  const isLast = given.isLast || given.state?.frontier.tasks.size === drops.length + 1;
  const isEnding = endsHistory(result) || given.state?.ruling === 'cancel';
  if (!isEnding && declared.tasks.length === 0 && isLast) {
    throw new InvalidError(
      'nothing-left',
      `Step ${step.name} was the last task of ${definition.name} and returned neither done nor next: the workflow would never end. Return { done } with its output, or { continueAsNew } with an input.`,
      { step: step.name, task: task.id },
    );
  }
  const dropped = done !== undefined || next !== undefined ? droppedBy(given, drops) : [];
  refuseDropping(dropped, step);
  const of = given.state ?? { workflow: NO_CHILD, user: undefined, tags: undefined };
  const children = childrenOf(declared, sequence, of, { clock, digest });
  const belief = believe(definition, step, result, content);
  const payload: Payloads['CheckpointCommitted'] = {
    output,
    ...(result.journal !== undefined && { journal: result.journal }),
    tasks: declared.inputs,
    ...(declared.asks !== undefined && { asks: declared.asks }),
    ...(children !== undefined && { children }),
    ...belief.payload,
    ...loggedWith(given, dropped),
    ...contextPayload(context),
  };
  const committed: Draft = {
    type: 'CheckpointCommitted',
    control: {
      checkpoint: given.checkpoint,
      sequence,
      parent: given.parent,
      task: task.id,
      step: step.name,
      stepVersion: definition.version,
      inputDigest: digestOf(digest, given.input),
      tasks: withChildren(declared.tasks, of.workflow, sequence),
      ...(drops.length > 0 && { drops }),
      belief: belief.kind,
      ...plusSpend(ownSpend(result, step), spent),
      lastAction: actionOf(result.lastAction ?? step.name),
      supersedes: supersededBy(result, step, sequence),
      ...(given.startedAtMs !== undefined && { startedAtMs: given.startedAtMs }),
      ...(hasContext(context) && { hasContext: true }),
    },
    payload,
  };
  const left = droppedControl(dropped);
  if (next !== undefined) return [committed, continuedDraft(next, digest, left)];
  if (done === undefined) return [committed];
  const completed: Draft = {
    type: 'WorkflowCompleted',
    control: { outputDigest: digestOf(digest, done), ...left },
    payload: { output: done },
  };
  return [committed, completed];
}

/** It may quote a model. What is no text is refused where the event is written. */
const actionOf = (action: string): string => (typeof action === 'string' ? storableText(action) : action);

/** What the step itself reports. */
const ownSpend = ({ tokens, costMicros }: StepResult, step: StepDefinition): Spend => ({
  tokens: countOf(tokens, 'tokens', step),
  costMicros: countOf(costMicros, 'costMicros', step),
});

/** Throws `InvalidError` (`task-not-dropped`) for a task that must not leave the frontier undone. */
function dropsOf({ result: { drops }, state, step, task, content }: CommitInput): readonly TaskId[] {
  if (drops === undefined || state === undefined) return [];
  const isMeant = (other: TaskState): boolean =>
    other.id !== task.id && drops({ step: other.step, input: content.inputOf(other.id) });
  const meant = [...state.frontier.tasks].filter(isMeant);
  const kept = meant.find((other) => !mayDrop(other));
  if (kept === undefined) return meant.map(({ id }) => id);
  const message = `Step ${step.name} drops task ${kept.id} (${kept.step}), which has called something or waits for a child.`;
  throw new InvalidError('task-not-dropped', message, { task: kept.id });
}

/** The tasks that the end of the workflow leaves undone. A shadow's own are no work. */
const droppedBy = ({ state, task }: CommitInput, drops: readonly TaskId[]): readonly TaskState[] =>
  state === undefined || state.shadow
    ? []
    : [...state.frontier.tasks].filter(({ id }) => id !== task.id && !drops.includes(id));

/** A call that a checkpoint must say, or nobody could compensate it. The money for a model's answer may be spent in vain. */
export const lastingCall = (task: TaskState | undefined): EffectState | undefined =>
  task?.effects.find(({ kind, status, spend }) => kind !== 'pure' && status !== 'failed' && spend === undefined);

/** Throws `ParkError` (`done-drops-effect`, `done-drops-child`): a person has the step tried again once the other task has ended. */
function refuseDropping(dropped: readonly TaskState[], { name }: StepDefinition): void {
  for (const task of dropped) {
    const { id, step, when } = task;
    const ends = `Step ${name} ends the workflow while task ${id} (${step}) is pending`;
    const remedy = 'Add the step that ends it with { after: [that task] }';
    const made = lastingCall(task);
    if (made !== undefined) {
      const message = `${ends}, which has called ${made.operation}: no checkpoint would say so. ${remedy}.`;
      throw new ParkError('done-drops-effect', message, null, { task: id, key: made.key });
    }
    const child = when.find((condition) => condition.kind === 'child' && condition.isAbandoned === true);
    if (child?.kind !== 'child') continue;
    const message = `${ends} and waits for ${child.child}, which runs on (onParentClose: 'abandon'), so its answer would reach nobody. ${remedy}, or have the child cancelled.`;
    throw new ParkError('done-drops-child', message, null, { task: id, child: child.child });
  }
}

/** Tells whoever reads the workflow's log which tasks were dropped. */
function loggedWith(
  { notes, nowMs }: CommitInput,
  dropped: readonly TaskState[],
): { readonly log?: readonly LogNote[] } {
  const names = dropped.slice(0, DROPPED_TASKS_MAX_COUNT).map(({ id, step }) => `${id} (${step})`);
  const detail = { count: dropped.length, tasks: names };
  const log = dropped.length === 0 ? notes : [...notes, { atMs: nowMs, action: TASKS_DROPPED, detail }];
  return log.length === 0 ? {} : { log };
}

const droppedControl = (dropped: readonly TaskState[]): Pick<Controls['WorkflowCompleted'], 'dropped'> =>
  dropped.length === 0
    ? {}
    : { dropped: { count: dropped.length, tasks: dropped.slice(0, DROPPED_TASKS_MAX_COUNT).map(({ id }) => id) } };

/** A workflow that was cancelled meanwhile does not continue as new: its cancellation ends it after this checkpoint. */
function nextOf({ definition, result, state, digest }: CommitInput, clock: Clock): Next | undefined {
  if (result.continueAsNew === undefined || state === undefined || state.ruling === 'cancel') return undefined;
  return drawUpNext(definition, result.continueAsNew, state, { clock, digest });
}

const continuedDraft = ({ as, opening }: Next, digest: Digest, left: ReturnType<typeof droppedControl>): Draft => ({
  type: 'WorkflowCompleted',
  control: { outputDigest: digestOf(digest, opening.input), continued: as, ...left },
  payload: { output: null, next: opening },
});

const hasContext = ({ fragments, scope, memories }: CommitContext): boolean =>
  fragments.length > 0 || scope !== null || memories.length > 0;

const contextPayload = ({ fragments, scope, memories }: CommitContext) => ({
  ...(fragments.length > 0 && { fragments }),
  ...(scope !== null && { scope }),
  ...(memories.length > 0 && { memories }),
});

/** Applies the staged checkpoint to `content` before it is accepted. If it is rejected, the run ends and its content is discarded. */
export function followStaged(content: StreamContent, drafts: readonly Draft[], task: TaskState): void {
  for (const draft of drafts) {
    if (draft.type !== 'CheckpointCommitted') continue;
    const { delta, snapshot } = draft.payload;
    content.committed(draft.control, draft.payload, JSON.stringify(delta ?? snapshot ?? null).length);
    content.forget(task.effects.map((effect) => effect.key));
  }
}

/** The checkpoint that this one corrects, or null. Throws `InvalidError` (`supersedes-invalid`) if there is no such checkpoint. */
function supersededBy({ supersedes }: StepResult, step: StepDefinition, sequence: Sequence): Sequence | null {
  if (supersedes === undefined) return null;
  if (Number.isInteger(supersedes) && supersedes >= 1 && supersedes < sequence) return supersedes;
  throw new InvalidError(
    'supersedes-invalid',
    `supersedes of step ${step.name}: there is no checkpoint ${supersedes} yet. Name one from 1 to ${sequence - 1}.`,
    { step: step.name, supersedes },
  );
}

function countOf(value: number | undefined, field: string, step: StepDefinition): number {
  if (value === undefined) return 0;
  if (Number.isFinite(value) && value >= 0) return value;
  throw new InvalidError(
    'step-result-invalid',
    `${field} of step ${step.name}: expected a number from 0, got ${value}.`,
  );
}

interface Believed {
  readonly kind: 'none' | 'delta' | 'snapshot';
  readonly payload: Pick<Payloads['CheckpointCommitted'], 'delta' | 'snapshot'>;
}

/** Applies the update to the current belief, not to that of the step's beginning, so that parallel steps compose. */
function believe(definition: Definition, step: StepDefinition, result: StepResult, content: StreamContent): Believed {
  if (result.belief === undefined) return { kind: 'none', payload: {} };
  const before = content.belief;
  const returned = result.belief(before);
  if (returned instanceof Promise) {
    // Nobody awaits this promise, and its rejection must not end the process.
    returned.catch(() => {});
    throw new InvalidError(
      'step-result-invalid',
      `belief of ${definition.name}.${step.name} must not be asynchronous. Await first, then return the update.`,
    );
  }
  const after = definition.parseBelief(toJson(returned, `belief of ${definition.name}.${step.name}`));
  const delta = diff(before, after);
  if (delta === undefined) return { kind: 'none', payload: {} };
  return content.snapshotDue
    ? { kind: 'snapshot', payload: { snapshot: after } }
    : { kind: 'delta', payload: { delta } };
}
