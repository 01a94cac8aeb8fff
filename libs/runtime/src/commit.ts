/**
 * Owns turning a step's result into its checkpoint: declared control flow is enforced, values are validated, belief becomes
 * a delta or a snapshot. Pure but for the ids and digests that are handed in.
 */

import { type ApprovalAsk, type Asks, type LogNote, type Payloads, toJson } from '@tidemark/codec';
import {
  type CheckpointId,
  type Condition,
  diff,
  InvalidError,
  isOpen,
  type Json,
  LIFECYCLE_RULES_VERSION,
  type ParentClosePolicy,
  type Sequence,
  type StreamState,
  type TaskDeclaration,
  type TaskId,
  type TaskState,
  taskId,
  taskOrder,
  type WorkflowId,
  workflowId,
} from '@tidemark/core';
import type { Clock, Digest } from '@tidemark/ports';
import { type CommitContext, NO_CONTEXT } from './commit-context.ts';
import type { StreamContent } from './content.ts';
import { drawUpNext, type Next } from './continuing.ts';
import { checkName, checkText } from './decision-checks.ts';
import type { Definition, StepDefinition, StepResult, TaskRequest, WaitRequest } from './definition.ts';
import type { Draft } from './held-stream.ts';
import { digestOf } from './json-digest.ts';
import { TIMER_MAX_MS, WAITS_PER_TASK_MAX } from './limits.ts';
import { childrenOf, withChildren } from './opening.ts';

export interface DeclaredTasks {
  readonly tasks: readonly TaskDeclaration[];
  readonly inputs: readonly Json[];
  /** What people are asked; absent: nothing. */
  readonly asks?: Asks | undefined;
  /** Workflows that tasks wait for, by the tasks' index; their ids follow from the tasks'. Absent: none. */
  readonly children?: Readonly<Record<string, ChildRequest>> | undefined;
}

export interface ChildRequest {
  readonly name: string;
  readonly definition: Definition;
  readonly input: unknown;
  readonly onClose: ParentClosePolicy;
}

/**
 * Task requests as the checkpoint of this sequence declares them. Throws `InvalidError` (`task-unknown`,
 * `task-not-declared`, `task-after-invalid`, `task-when-invalid`) that names the step, the task's place in the list and what to do. `nowMs`:
 * what timers count from.
 */
export function declareTasks(
  definition: Definition,
  by: StepDefinition | null,
  requests: readonly TaskRequest[],
  sequence: Sequence,
  nowMs: number,
): DeclaredTasks {
  const tasks: TaskDeclaration[] = [];
  const inputs: Json[] = [];
  const asks: Record<string, ApprovalAsk> = {};
  const children: Record<string, ChildRequest> = {};
  const indexes = new Map(requests.map((request, index) => [request, index]));
  for (const [index, request] of requests.entries()) {
    const where = `next[${index}] of ${definition.name}.${by?.name ?? 'begin'}`;
    const step = definition.steps.get(request.step);
    if (step === undefined) {
      throw new InvalidError('task-unknown', `${where}: no step is named '${request.step}'.`, {
        step: request.step,
        index,
      });
    }
    if (by !== null && !by.mayAdd.has(request.step)) {
      throw new InvalidError(
        'task-not-declared',
        `${where}: step '${by.name}' may not add '${request.step}'. Declare it in flow: ${by.name}: [..., '${request.step}'].`,
        { step: by.name, task: request.step, index },
      );
    }
    tasks.push({
      step: request.step,
      after: after(request, index, indexes, sequence, where),
      when: conditions(request, taskId(sequence, index), nowMs, where),
    });
    const ask = request.when === undefined ? undefined : askOf(definition, request.when.anyOf, where);
    if (ask !== undefined) asks[index] = ask;
    const child = request.when === undefined ? undefined : childOf(definition, request.when.anyOf, where);
    if (child !== undefined) children[index] = child;
    inputs.push(step.parseInput(request.input));
  }
  return {
    tasks,
    inputs,
    ...(Object.keys(asks).length > 0 && { asks }),
    ...(Object.keys(children).length > 0 && { children }),
  };
}

/** Timers are named after the task and their place in its list, so that no two of a workflow share a name. */
function conditions({ when }: TaskRequest, task: TaskId, nowMs: number, where: string): readonly Condition[] {
  const waits = when?.anyOf ?? [];
  const refuse = (problem: string): never => {
    throw new InvalidError('task-when-invalid', `${where}: ${problem}.`, { task });
  };
  if (waits.length > WAITS_PER_TASK_MAX) refuse(`'when' has ${waits.length} waits; at most ${WAITS_PER_TASK_MAX}`);
  return waits.map((wait, at) => {
    if (wait.kind === 'signal') return { kind: 'signal', name: checkName('signal', wait.name) };
    // Its id follows from the workflow's, which is not known here: see withChildren.
    if (wait.kind === 'child') return { kind: 'child', child: NO_CHILD, ...(wait.isVital && { isVital: true }) };
    if (wait.kind === 'approval') {
      const { name, assignee } = wait;
      const given = assignee === undefined ? {} : { assignee: checkName('assignee', assignee) };
      return { kind: 'approval', name, askedAtMs: nowMs, ...given };
    }
    const delayMs = delayOf(wait, nowMs);
    if (!Number.isSafeInteger(delayMs) || delayMs > TIMER_MAX_MS) {
      refuse(`'when' has a timer that is no time within ${TIMER_MAX_MS} ms (ten years)`);
    }
    return { kind: 'timer', timer: `wait:${task}:${at}`, anchorMs: nowMs, delayMs };
  });
}

const NO_CHILD = workflowId('~');

/** One at most, whose id is the task's. */
function childOf(definition: Definition, waits: readonly WaitRequest[], where: string): ChildRequest | undefined {
  const [wait, other] = waits.filter((each) => each.kind === 'child');
  if (wait === undefined) return undefined;
  const child = definition.children?.get(wait.name);
  if (child !== undefined && other === undefined)
    return { name: wait.name, definition: child, input: wait.input, onClose: wait.onClose };
  const problem = other === undefined ? `names the child '${wait.name}', which is none` : 'has two children';
  throw new InvalidError('task-when-invalid', `${where}: 'when' ${problem}.`, { child: wait.name });
}

/** What a person is asked before the task may run: by one approval at most, so that an answer to the task is one to that. */
function askOf(definition: Definition, waits: readonly WaitRequest[], where: string): ApprovalAsk | undefined {
  const [wait, other] = waits.filter((each) => each.kind === 'approval');
  if (wait === undefined) return undefined;
  const form = definition.approvals?.get(wait.name);
  if (form === undefined || other !== undefined) {
    const problem = other === undefined ? `names the approval '${wait.name}', which is none` : 'has two approvals';
    throw new InvalidError('task-when-invalid', `${where}: 'when' ${problem}.`, { approval: wait.name });
  }
  const { title, detail } = wait;
  if (title !== undefined) checkText('title', title);
  return {
    ...(title !== undefined && { title }),
    ...(detail !== undefined && { detail: toJson(detail, `${where}, detail of the approval`) }),
    form,
  };
}

const delayOf = (wait: Extract<WaitRequest, { kind: 'timer' | 'at' }>, nowMs: number): number =>
  Math.max(0, Math.ceil(wait.kind === 'timer' ? wait.delayMs : wait.atMs - nowMs));

const TASK_ID = /^(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,6})$/;

function after(
  request: TaskRequest,
  index: number,
  indexes: ReadonlyMap<TaskRequest, number>,
  sequence: Sequence,
  where: string,
): readonly TaskId[] | 'all' {
  if (request.after === 'all') return 'all';
  return (request.after ?? []).map((other) => {
    if (typeof other === 'string') {
      // Written as it is, anything else would make a checkpoint that its writer takes and no reader does.
      if (TASK_ID.test(other) && taskOrder(other)[0] < sequence) return other;
      throw new InvalidError(
        'task-after-invalid',
        `${where}: 'after' names '${other.slice(0, 100)}', which is no task that was added before. Use ids as ctx.task has them.`,
        { index },
      );
    }
    const sibling = indexes.get(other);
    if (sibling === undefined || sibling >= index) {
      throw new InvalidError(
        'task-after-invalid',
        `${where}: 'after' names a task that is not earlier in the same list. Put it there first, or use the id of a task that exists.`,
        { index },
      );
    }
    return taskId(sequence, sibling);
  });
}

export interface CommitInput {
  readonly definition: Definition;
  readonly step: StepDefinition;
  readonly task: TaskState;
  readonly input: Json;
  readonly result: StepResult;
  readonly notes: readonly LogNote[];
  readonly content: StreamContent;
  /** Whose checkpoint it is; absent: its tasks wait for no children. */
  readonly workflow?: WorkflowId | undefined;
  readonly user?: string | undefined;
  /** As it stands; absent: it can't go on with a fresh history. */
  readonly state?: StreamState | undefined;
  /** No other task is pending. */
  readonly isLast: boolean;
  readonly checkpoint: CheckpointId;
  readonly sequence: Sequence;
  readonly parent: CheckpointId | null;
  readonly digest: Digest;
  /** What timers count from, by the holder's clock. */
  readonly nowMs: number;
  /** When the attempt began, by the same. */
  readonly startedAtMs?: number | undefined;
  /** Absent: it brings none. */
  readonly context?: CommitContext | undefined;
}

/** The checkpoint's event, and the workflow's completion after it where the step says so. Changes `content` last of all. */
export function commitDrafts(given: CommitInput): readonly Draft[] {
  const { definition, step, task, result, content, sequence, digest, context = NO_CONTEXT } = given;
  const { spent } = context;
  const open = task.effects.find(isOpen);
  if (open !== undefined) {
    throw new InvalidError(
      'effect-open',
      `Step ${step.name} ended while the outcome of ${open.key} is open. It is tried again, and the effect decided first.`,
      { key: open.key },
    );
  }
  const declared = declareTasks(definition, step, result.next ?? [], sequence, given.nowMs);
  const output = result.output === undefined ? null : step.parseOutput(result.output);
  const done = result.done === undefined ? undefined : definition.parseOutput(result.done);
  const clock = { nowMs: () => given.nowMs } as Clock;
  const next = nextOf(given, clock);
  if (!endsHistory(result) && declared.tasks.length === 0 && given.isLast) {
    throw new InvalidError(
      'nothing-left',
      `Step ${step.name} was the last task of ${definition.name} and returned neither done nor next: the workflow would never end. Return { done } with its output, or { continueAsNew } with an input.`,
      { step: step.name, task: task.id },
    );
  }
  const of = { workflow: given.workflow ?? NO_CHILD, user: given.user };
  const children = childrenOf(declared, sequence, of, { clock, digest });
  const belief = believe(definition, step, result, content);
  const payload: Payloads['CheckpointCommitted'] = {
    output,
    tasks: declared.inputs,
    ...(declared.asks !== undefined && { asks: declared.asks }),
    ...(children !== undefined && { children }),
    ...belief.payload,
    ...(given.notes.length === 0 ? {} : { log: given.notes }),
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
      tasks: withChildren(declared.tasks, given.workflow ?? NO_CHILD, sequence),
      belief: belief.kind,
      tokens: countOf(result.tokens, 'tokens', step) + spent.tokens,
      costMicros: countOf(result.costMicros, 'costMicros', step) + spent.costMicros,
      lastAction: result.lastAction ?? step.name,
      supersedes: supersededBy(result, step, sequence),
      ...(given.startedAtMs !== undefined && { startedAtMs: given.startedAtMs }),
      ...(hasContext(context) && { hasContext: true }),
    },
    payload,
  };
  if (next !== undefined) return [committed, continuedDraft(next, digest)];
  if (done === undefined) return [committed];
  const completed: Draft = {
    type: 'WorkflowCompleted',
    control: { outputDigest: digestOf(digest, done) },
    payload: { output: done },
  };
  return [committed, completed];
}

/** Whether nothing follows in this history. */
export const endsHistory = ({ done, continueAsNew }: StepResult): boolean =>
  done !== undefined || continueAsNew !== undefined;

/** Cancelled meanwhile, it doesn't go on: it is ended as any other, once the checkpoint is made. */
function nextOf({ definition, result, state, digest }: CommitInput, clock: Clock): Next | undefined {
  if (result.continueAsNew === undefined || state === undefined || state.ruling === 'cancel') return undefined;
  return drawUpNext(definition, result.continueAsNew, state, { clock, digest });
}

const continuedDraft = ({ as, opening }: Next, digest: Digest): Draft => ({
  type: 'WorkflowCompleted',
  control: { outputDigest: digestOf(digest, opening.input), continued: as },
  payload: { output: null, next: opening },
});

const hasContext = ({ fragments, scope, memories }: CommitContext): boolean =>
  fragments.length > 0 || scope !== null || memories.length > 0;

const contextPayload = ({ fragments, scope, memories }: CommitContext) => ({
  ...(fragments.length > 0 && { fragments }),
  ...(scope !== null && { scope }),
  ...(memories.length > 0 && { memories }),
});

/** Content follows what was staged; if it is rejected, the whole run's content is thrown away. */
export function followStaged(content: StreamContent, drafts: readonly Draft[], task: TaskState): void {
  for (const draft of drafts) {
    if (draft.type !== 'CheckpointCommitted') continue;
    const { delta, snapshot } = draft.payload;
    content.committed(draft.control, draft.payload, JSON.stringify(delta ?? snapshot ?? null).length);
    content.forget(task.effects.map((effect) => effect.key));
  }
}

/** A correction names a checkpoint that is there. */
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

/** The update is applied to the belief of now, not of when the step began, so that parallel steps compose. */
function believe(definition: Definition, step: StepDefinition, result: StepResult, content: StreamContent): Believed {
  if (result.belief === undefined) return { kind: 'none', payload: {} };
  const before = content.belief;
  const returned = result.belief(before);
  if (returned instanceof Promise) {
    // Nobody waits for it, so its failure must not end the process.
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

/** Whether a stream with such a task needs the rules of a lifecycle. */
export const needsLifecycle = (tasks: readonly TaskDeclaration[]): boolean =>
  tasks.some(({ when }) => when.some(({ kind }) => kind === 'approval' || kind === 'child'));

/** What comes before a checkpoint that only later rules can read. */
export function rulesRaised(rules: number, drafts: readonly Draft[]): readonly Draft[] {
  const isNewer = drafts.some(
    (draft) =>
      (draft.type === 'CheckpointCommitted' && needsLifecycle(draft.control.tasks)) ||
      (draft.type === 'WorkflowCompleted' && draft.control.continued !== undefined),
  );
  if (!isNewer || rules >= LIFECYCLE_RULES_VERSION) return [];
  return [{ type: 'RulesRaised', control: { rules: LIFECYCLE_RULES_VERSION }, payload: null }];
}
