/**
 * Owns how a step names the tasks it adds: plain values, typed by name and input, so that what a step returns is all that
 * it changes. Must not validate: the input is checked against the definition's schema when the task is added.
 */

import type { TaskId } from '@tidemark/core';
import type { Given, Schemas } from './schema.ts';

/** Any task, of whatever name and input. */
export interface AnyTask {
  readonly step: string;
  readonly input: unknown;
  readonly after?: readonly (AnyTask | TaskId)[] | 'all' | undefined;
}

/** A task of one step, not yet added: it is added by returning it in `next`. */
export interface Task<Name extends string, Input> extends AnyTask {
  readonly step: Name;
  readonly input: Input;
}

export interface TaskOptions {
  /**
   * What must be done first: tasks returned in the same `next` or ids of earlier ones; `all`: every task that is pending
   * when this one is added and was added before it, those earlier in the same `next` included. By default nothing.
   */
  readonly after?: readonly (AnyTask | TaskId)[] | 'all' | undefined;
}

/** The tasks of some steps of a definition. */
export type TaskOf<Tasks extends Schemas, Name extends keyof Tasks> = {
  [N in Name & string]: Task<N, Given<Tasks[N]>>;
}[Name & string];

/** A task for a step: `task('credit', { orderId, cents })`, `task('merge', {}, { after: 'all' })`. */
export function task<const Name extends string, const Input>(
  step: Name,
  input: Input,
  options: TaskOptions = {},
): Task<Name, Input> {
  return options.after === undefined ? { step, input } : { step, input, after: options.after };
}
