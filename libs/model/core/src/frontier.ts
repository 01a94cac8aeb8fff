/**
 * Owns the pending tasks: adding and finishing them, what blocks a task and why, which is next, and the matching of signals and timers to
 * waiting tasks. Pure. `after: 'all'` means every pending task that was created before, so two such tasks can never wait for each other.
 */

import type { UnconsumedSignal } from './continues.ts';
import type { Outage, Retry, TaskDeclaration } from './event.ts';
import { type EffectKey, type Sequence, type TaskId, taskId, type WorkflowId } from './ids.ts';
import { type Cause, type EffectState, type Frontier, isAwaited, type TaskState } from './state.ts';
import { taskRank } from './task-list.ts';

/** Why a task can't run yet. */
export type Blocked =
  | { readonly on: 'tasks'; readonly tasks: readonly TaskId[] }
  | { readonly on: 'all-earlier'; readonly remainingCount: number }
  | { readonly on: 'signal'; readonly names: readonly string[] }
  | { readonly on: 'timer'; readonly timer: string; readonly dueAtMs: number }
  | {
      readonly on: 'approval';
      readonly name: string;
      readonly assignee: string | null;
      readonly askedAtMs: number;
    }
  | { readonly on: 'child'; readonly child: WorkflowId }
  | {
      readonly on: 'retry';
      readonly failureCount: number;
      readonly dueAtMs: number;
      readonly outage?: Outage | undefined;
    }
  | {
      readonly on: 'confirmation';
      readonly key: EffectKey;
      readonly token: string;
      readonly overdueAtMs: number | null;
    };

/** Everything that blocks the task; empty when it may run. */
export function blockedOn(task: TaskState): readonly Blocked[] {
  const reasons: Blocked[] = [];
  if (task.after.length > 0) reasons.push({ on: 'tasks', tasks: task.after });
  if (task.barrierCount > 0) reasons.push({ on: 'all-earlier', remainingCount: task.barrierCount });
  const names = task.when.flatMap((condition) => (condition.kind === 'signal' ? [condition.name] : []));
  if (names.length > 0) reasons.push({ on: 'signal', names });
  for (const condition of task.when) {
    if (condition.kind === 'timer') {
      reasons.push({ on: 'timer', timer: condition.timer, dueAtMs: condition.anchorMs + condition.delayMs });
    }
    if (condition.kind === 'child') reasons.push({ on: 'child', child: condition.child });
    if (condition.kind === 'approval') {
      const { name, assignee = null, askedAtMs } = condition;
      reasons.push({ on: 'approval', name, assignee, askedAtMs });
    }
  }
  if (task.retry !== null) {
    reasons.push({
      on: 'retry',
      failureCount: task.failureCount,
      dueAtMs: task.retry.anchorMs + task.retry.delayMs,
      outage: task.outage,
    });
  }
  for (const { key, pending } of task.effects) {
    if (pending === null || pending.isDue) continue;
    const { token, deadline } = pending;
    const overdueAtMs = deadline === null ? null : deadline.anchorMs + deadline.delayMs;
    reasons.push({ on: 'confirmation', key, token, overdueAtMs });
  }
  return reasons;
}

export const isUnblocked = (task: TaskState): boolean =>
  task.barrierCount === 0 &&
  task.retry === null &&
  task.after.length === 0 &&
  task.when.length === 0 &&
  !task.effects.some(isAwaited);

/** Whether a timer, a signal or a confirmation could unblock a task. */
export const awaitsInbox = ({ tasks }: Frontier): boolean =>
  tasks.find((task) => task.retry !== null || task.when.length > 0 || task.effects.some(isAwaited)) !== undefined;

/** The timers that a task waits for, in no particular order. */
export function timersOf(task: TaskState): readonly Retry[] {
  const timers: Retry[] = task.retry === null ? [] : [task.retry];
  for (const condition of task.when) if (condition.kind === 'timer') timers.push(condition);
  for (const { pending } of task.effects) {
    if (pending?.probe != null) timers.push(pending.probe);
    if (pending?.deadline != null) timers.push(pending.deadline);
  }
  return timers;
}

/** The first unblocked task, in order of creation, that is not in `skip`. */
export function firstUnblocked(frontier: Frontier, skip?: ReadonlySet<TaskId>): TaskState | undefined {
  return frontier.tasks.find((task) => isUnblocked(task) && !skip?.has(task.id));
}

/** Adds the tasks that the checkpoint of this sequence declares (0: the opening). */
export function addTasks(frontier: Frontier, createdAt: Sequence, declarations: readonly TaskDeclaration[]): Frontier {
  if (declarations.length === 0) return frontier;
  const added: TaskState[] = [];
  const barriers = [...frontier.barriers];
  let waiting = frontier.waiting;
  for (const [index, declaration] of declarations.entries()) {
    const id = taskId(createdAt, index);
    const after =
      declaration.after === 'all'
        ? []
        : [...new Set(declaration.after)].filter((other) => isPending(frontier, added, createdAt, other));
    const barrierCount = declaration.after === 'all' ? frontier.tasks.size + added.length : 0;
    if (barrierCount > 0) barriers.push(id);
    for (const other of after) {
      const dependents = waiting.get(other)?.dependents ?? [];
      waiting = waiting.set({ id: other, dependents: [...dependents, id] });
    }
    added.push({
      id,
      step: declaration.step,
      after,
      barrierCount,
      when: declaration.when,
      cause: null,
      failureCount: 0,
      failureCode: null,
      sameFailureCount: 0,
      retry: null,
      reserved: null,
      effects: [],
    });
  }
  return { tasks: frontier.tasks.append(added), waiting, barriers };
}

/** A task that is neither pending nor an earlier sibling is done. */
function isPending(frontier: Frontier, added: readonly TaskState[], createdAt: Sequence, other: TaskId): boolean {
  if (frontier.tasks.get(other) !== undefined) return true;
  const rank = taskRank(other) - taskRank(taskId(createdAt, 0));
  return rank >= 0 && rank < added.length;
}

/** The list without one id, which it has at most once. Cut out by index, because a join may name thousands of tasks. */
function without(list: readonly TaskId[], id: TaskId): readonly TaskId[] {
  const at = list.indexOf(id);
  return at < 0 ? list : list.toSpliced(at, 1);
}

/** Removes a finished task and unblocks the tasks that waited for it. */
export function finishTask(frontier: Frontier, done: TaskId): Frontier {
  let tasks = frontier.tasks.delete(done);
  for (const id of frontier.waiting.get(done)?.dependents ?? []) {
    const dependent = tasks.get(id);
    if (dependent !== undefined) {
      tasks = tasks.set({ ...dependent, after: without(dependent.after, done) });
    }
  }
  const waiting = stopWaiting(frontier, done).delete(done);
  if (frontier.barriers.length === 0) return { tasks, waiting, barriers: frontier.barriers };
  const barriers: TaskId[] = [];
  for (const id of frontier.barriers) {
    const barrier = tasks.get(id);
    if (barrier === undefined) continue;
    const remaining = taskRank(id) > taskRank(done) ? barrier.barrierCount - 1 : barrier.barrierCount;
    if (remaining !== barrier.barrierCount) tasks = tasks.set({ ...barrier, barrierCount: remaining });
    if (remaining > 0) barriers.push(id);
  }
  return { tasks, waiting, barriers };
}

/** Whether the task may leave the frontier undone: no call of it is lost with it, and no child. */
export const mayDrop = ({ effects, when }: TaskState): boolean =>
  effects.length === 0 && !when.some(({ kind }) => kind === 'child');

/** Removes from the index a task that finished while it was blocked. */
function stopWaiting({ tasks, waiting }: Frontier, done: TaskId): Frontier['waiting'] {
  let left = waiting;
  for (const other of tasks.get(done)?.after ?? []) {
    const dependents = without(left.get(other)?.dependents ?? [], done);
    left = dependents.length === 0 ? left.delete(other) : left.set({ id: other, dependents });
  }
  return left;
}

export const updateTask = (frontier: Frontier, task: TaskState): Frontier => ({
  ...frontier,
  tasks: frontier.tasks.set(task),
});

const waitsForSignal = (task: TaskState, name: string): boolean =>
  task.when.some((condition) => condition.kind === 'signal' && condition.name === name);

const waitsForTimer = (task: TaskState, timer: string): boolean =>
  task.when.some((condition) => condition.kind === 'timer' && condition.timer === timer);

/** Only a signal may be discarded before a step has read it: then the task waits again. */
export const given = (task: TaskState, cause: Cause): TaskState =>
  cause.kind === 'signal' ? { ...task, when: [], cause, awaited: task.when } : { ...task, when: [], cause };

/** Gives the cause to the first task that awaits it; undefined when none does. */
export function fulfil(frontier: Frontier, cause: Cause): Frontier | undefined {
  const { kind, name } = cause;
  const task = frontier.tasks.find((other) =>
    kind === 'signal' ? waitsForSignal(other, name) : timersOf(other).some(({ timer }) => timer === name),
  );
  if (task === undefined) return undefined;
  if (kind === 'signal' || waitsForTimer(task, name)) return updateTask(frontier, given(task, cause));
  if (task.retry?.timer === name) return updateTask(frontier, { ...task, retry: null });
  return updateTask(frontier, { ...task, effects: task.effects.map((effect) => ring(effect, name)) });
}

/** The effect after one of its timers has fired: its probe is due. Once it is overdue it has no further timer. */
function ring(effect: EffectState, timer: string): EffectState {
  const { pending } = effect;
  if (pending?.deadline?.timer === timer)
    return { ...effect, pending: { ...pending, probe: null, deadline: null, isDue: true } };
  if (pending?.probe?.timer === timer) return { ...effect, pending: { ...pending, probe: null, isDue: true } };
  return effect;
}

/** Replaces the task's effect of the same key, or appends it. */
export function withEffect(task: TaskState, effect: EffectState): TaskState {
  const at = task.effects.findIndex((other) => other.key === effect.key);
  const effects = at < 0 ? [...task.effects, effect] : task.effects.with(at, effect);
  // Whoever was away has answered, or another whom the step called since.
  const isOver = effect.status === 'done' && task.outage !== undefined;
  return isOver ? { ...task, effects, outage: undefined } : { ...task, effects };
}

/**
 * Matches stored signals, oldest first, to the tasks that await them. Walks the tasks once, since a workflow may store many signals that
 * none awaits.
 */
export function matchSignals(
  frontier: Frontier,
  signals: readonly UnconsumedSignal[],
): { readonly frontier: Frontier; readonly signals: readonly UnconsumedSignal[] } {
  const waiting = [...frontier.tasks].filter((task) => task.when.some((condition) => condition.kind === 'signal'));
  let matched = frontier;
  const left = signals.filter(({ name, event }) => {
    const at = waiting.findIndex((task) => waitsForSignal(task, name));
    if (at < 0) return true;
    const [task] = waiting.splice(at, 1);
    matched = updateTask(matched, given(task!, { kind: 'signal', name, event }));
    return false;
  });
  return left.length === signals.length ? { frontier, signals } : { frontier: matched, signals: left };
}
