/**
 * Owns how the tasks that a step requests become declarations of a checkpoint. It enforces the declared control flow, and names what the
 * tasks wait for. Pure.
 */

import { type ApprovalAsk, type Asks, toJson } from '@tidemark/codec';
import {
  type Condition,
  InvalidError,
  type Json,
  type ParentClosePolicy,
  type Sequence,
  type TaskDeclaration,
  type TaskId,
  taskId,
  taskOrder,
  workflowId,
} from '@tidemark/core';
import {
  ANY_STEP,
  type Definition,
  type StepDefinition,
  stepNamed,
  type TaskRequest,
  type WaitRequest,
} from '../definition/index.ts';
import { TIMER_MAX_MS, WAITS_PER_TASK_MAX } from '../kernel/index.ts';
import { checkName, checkText } from '../lease/index.ts';

export interface DeclaredTasks {
  readonly tasks: readonly TaskDeclaration[];
  readonly inputs: readonly Json[];
  /** The questions of the tasks' approvals, by the tasks' index; absent: none. */
  readonly asks?: Asks | undefined;
  /** The children that tasks wait for, by the tasks' index; their ids derive from the tasks' ids. Absent: none. */
  readonly children?: Readonly<Record<string, ChildRequest>> | undefined;
}

export interface ChildRequest {
  readonly name: string;
  readonly definition: Definition;
  readonly input: unknown;
  readonly onClose: ParentClosePolicy;
}

/**
 * The task requests as the checkpoint of this sequence declares them. `by`: the step that returned them, null for `begin`; `nowMs`: the
 * time from which timers count. Throws `InvalidError` (`task-unknown`, `task-not-declared`, `task-after-invalid`, `task-when-invalid`) that
 * names the step, the task's place in the list and what to do.
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
    const step = stepNamed(definition.steps, request.step);
    if (step === undefined) {
      throw new InvalidError('task-unknown', `${where}: no step is named '${request.step}'.`, {
        step: request.step,
        index,
      });
    }
    if (by !== null && !by.mayAdd.has(request.step) && !by.mayAdd.has(ANY_STEP)) {
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

/**
 * The conditions of the task. A timer is named after the task and its place in the task's list, so that no two timers of a workflow share a
 * name.
 */
function conditions({ when }: TaskRequest, task: TaskId, nowMs: number, where: string): readonly Condition[] {
  const waits = when?.anyOf ?? [];
  const refuse = (problem: string): never => {
    throw new InvalidError('task-when-invalid', `${where}: ${problem}.`, { task });
  };
  if (waits.length > WAITS_PER_TASK_MAX) refuse(`'when' has ${waits.length} waits; at most ${WAITS_PER_TASK_MAX}`);
  return waits.map((wait, at) => {
    if (wait.kind === 'signal') return { kind: 'signal', name: checkName('signal', wait.name) };
    // The child's id derives from the workflow's, which is not known here: see withChildren.
    if (wait.kind === 'child') {
      const isAbandoned = wait.onClose === 'abandon' && ({ isAbandoned: true } as const);
      return { kind: 'child', child: NO_CHILD, ...(wait.isVital && { isVital: true }), ...isAbandoned };
    }
    if (wait.kind === 'approval') {
      const { name, assignee } = wait;
      const given = assignee === undefined ? {} : { assignee: checkName('assignee', assignee) };
      return { kind: 'approval', name, askedAtMs: nowMs, ...given };
    }
    const delayMs = delayOf(wait, nowMs);
    if (!Number.isSafeInteger(delayMs) || delayMs > TIMER_MAX_MS) {
      refuse(`'when' has a timer that is not within ${TIMER_MAX_MS} ms (ten years)`);
    }
    return { kind: 'timer', timer: `wait:${task}:${at}`, anchorMs: nowMs, delayMs };
  });
}

/** Stands for a child's id until the workflow's id is known. */
export const NO_CHILD = workflowId('~');

/** The child that the task waits for: at most one, since its id derives from the task's. */
function childOf(definition: Definition, waits: readonly WaitRequest[], where: string): ChildRequest | undefined {
  const [wait, other] = waits.filter((each) => each.kind === 'child');
  if (wait === undefined) return undefined;
  const child = definition.children?.get(wait.name);
  if (child !== undefined && other === undefined)
    return { name: wait.name, definition: child, input: wait.input, onClose: wait.onClose };
  const problem =
    other === undefined ? `names '${wait.name}', which is not a child that it may wait for` : 'has two children';
  throw new InvalidError('task-when-invalid', `${where}: 'when' ${problem}.`, { child: wait.name });
}

/** The approval that a person must give before the task may run: at most one, so that an answer to the task answers that one. */
function askOf(definition: Definition, waits: readonly WaitRequest[], where: string): ApprovalAsk | undefined {
  const [wait, other] = waits.filter((each) => each.kind === 'approval');
  if (wait === undefined) return undefined;
  const form = definition.approvals?.get(wait.name);
  if (form === undefined || other !== undefined) {
    const problem =
      other === undefined ? `names '${wait.name}', which is not an approval of the definition` : 'has two approvals';
    throw new InvalidError('task-when-invalid', `${where}: 'when' ${problem}.`, { approval: wait.name });
  }
  const { title, detail, preset } = wait;
  if (title !== undefined) checkText('title', title);
  return {
    ...(title !== undefined && { title }),
    ...(detail !== undefined && { detail: toJson(detail, `${where}, detail of the approval`) }),
    form:
      preset === undefined
        ? form
        : { ...(form as object), default: toJson(preset, `${where}, preset of the approval`) },
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
      // The id is stored as it is: an invalid one would make a checkpoint that its writer accepts and no reader does.
      if (TASK_ID.test(other) && taskOrder(other)[0] < sequence) return other;
      throw new InvalidError(
        'task-after-invalid',
        `${where}: 'after' names '${other.slice(0, 100)}', which is not a task that was added before. Use ids as ctx.task has them.`,
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
