/** Owns what remains to do, in words: each pending task, and what it is blocked on and why. Pure. */

import type { Task, Workflow } from '@tidemark/client';
import { clockTime, counted, dateTime, until } from '../text/units.ts';

/** A day, in milliseconds: later times are shown with their date. */
const DAY_MS = 86_400_000;

/** Why no task of the workflow can run, whatever it waits for; undefined: they may. */
export function stoppedWords(status: Workflow['status']): string | undefined {
  if (status === 'compensating') return 'stopped: the workflow is being compensated';
  return status === 'open' || status === 'parked' ? undefined : 'not done: the workflow has ended';
}

/** Names of the steps of pending tasks, to say `2.0 (price)`. */
export type StepNames = ReadonlyMap<string, string>;

export const stepNames = (tasks: readonly Task[]): StepNames => new Map(tasks.map(({ task, step }) => [task, step]));

/** What keeps the task from running, or its state; one line. `isHeld`: a worker has the workflow. */
export function taskWords(task: Task, steps: StepNames, nowMs: number, isHeld = false): string {
  const { blocked_on: blocked } = task;
  if (task.state === 'ready' || blocked.length === 0) return readyWords(task, isHeld);
  // Signals and timers are alternatives to each other; everything else must come true as well.
  const either = blocked.filter(isAlternative);
  const needed = blocked.filter((reason) => !isAlternative(reason)).map((reason) => blockedWords(reason, steps, nowMs));
  const waits = either.map((reason) => blockedWords(reason, steps, nowMs)).join(' or ');
  return [...needed, ...(waits === '' ? [] : [waits])].join(', and ');
}

type Blocked = Task['blocked_on'][number];

const ALTERNATIVES: readonly Blocked['on'][] = ['signal', 'timer', 'approval', 'child'];
const isAlternative = ({ on }: Blocked): boolean => ALTERNATIVES.includes(on);

function readyWords({ effects, failure_count: failureCount, cause }: Task, isHeld: boolean): string {
  const open = effects.find((effect) => effect.status === 'intended');
  if (open !== undefined) return `effect ${open.operation} under way (${open.kind})`;
  const tried = failureCount === 0 ? '' : `, attempt ${failureCount + 1}`;
  const words = `${isHeld ? 'running or next' : 'can run'}${tried}`;
  return cause === null ? words : `${words}: ${cause.kind} ${cause.name} came`;
}

function blockedWords(blocked: Blocked, steps: StepNames, nowMs: number): string {
  switch (blocked.on) {
    case 'tasks':
      return `after ${blocked.tasks.map((id) => named(id, steps)).join(', ')}`;
    case 'all_earlier':
      return `after all earlier tasks (${blocked.remaining_count} to go)`;
    case 'signal':
      return `waits for signal ${blocked.names.join(' or ')}`;
    case 'timer':
      return `waits until ${timeWords(Date.parse(blocked.due_at), nowMs)}`;
    case 'child':
      return `waits for workflow ${blocked.child}`;
    case 'approval':
      return `asks ${blocked.assignee ?? 'a person'} for approval (${blocked.name})`;
    case 'retry':
      if (blocked.outage !== undefined) {
        const { of, why, since } = blocked.outage;
        return `waits for ${of}: ${why} until ${timeWords(Date.parse(blocked.due_at), nowMs)}, since ${clockTime(Date.parse(since))}`;
      }
      return `failed ${counted(blocked.failure_count, 'time')}, tried again ${until(Date.parse(blocked.due_at), nowMs).replace('due', 'now')}`;
    case 'confirmation': {
      const overdue =
        blocked.overdue_at === null ? '' : `, at the latest ${timeWords(Date.parse(blocked.overdue_at), nowMs)}`;
      const token = blocked.token === undefined ? '' : ` (${blocked.token})`;
      return `waits for the confirmation of ${blocked.idempotency_key}${token}${overdue}`;
    }
  }
}

const named = (id: string, steps: StepNames): string => {
  const step = steps.get(id);
  return step === undefined ? id : `${id} (${step})`;
};

const timeWords = (atMs: number, nowMs: number): string =>
  `${atMs - nowMs > DAY_MS ? dateTime(atMs) : clockTime(atMs)} (${until(atMs, nowMs)})`;
