/** Owns how what remains to do reads on a terminal: each pending task, and what it is blocked on. Pure. */

import type { Task } from '@tidemark/client';
import { localTimes } from '../text/units.ts';

/** What keeps the task from running, or its state; one line. `isHeld`: a worker has the workflow. */
export const taskWords = (task: Task, nowMs: number, isHeld = false): string =>
  task.state === 'frozen' ? 'stopped' : task.why === null ? readyWords(task, isHeld) : localTimes(task.why, nowMs);

function readyWords({ effects, failure_count: failureCount, cause }: Task, isHeld: boolean): string {
  const open = effects.find((effect) => effect.status === 'intended');
  if (open !== undefined) return `effect ${open.operation} under way (${open.kind})`;
  const tried = failureCount === 0 ? '' : `, attempt ${failureCount + 1}`;
  const words = `${isHeld ? 'running or next' : 'can run'}${tried}`;
  return cause === null ? words : `${words}: ${cause.kind} ${cause.name} came`;
}
