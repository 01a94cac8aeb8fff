/**
 * Owns how a step names the tasks it adds: plain values, typed by name and input, so that a step changes only what it returns. Must not
 * validate: the input is checked against the definition's schema when the task is added.
 */

import type { TaskId } from '@tidemark/core';
import type { Given, Schemas } from './schema.ts';
import type { ChildName, InputsOf, SignalOf, Wait } from './wait.ts';

/** Any task, of whatever name and input. */
export interface AnyTask {
  readonly step: string;
  readonly input: unknown;
  readonly after?: readonly (AnyTask | TaskId)[] | 'all' | undefined;
  readonly when?: Wait | undefined;
}

/** A task of one step, not yet added: it is added by returning it in `next`. */
export interface Task<Name extends string, Input, Signal extends string = string, Inputs = unknown> extends AnyTask {
  readonly step: Name;
  readonly input: Input;
  readonly when?: Wait<Signal, Inputs> | undefined;
}

export interface TaskOptions {
  /**
   * What must be done first: tasks returned in the same `next` or ids of earlier ones; `all`: every task that is pending
   * when this one is added and was added before it, those earlier in the same `next` included. By default nothing.
   */
  readonly after?: readonly (AnyTask | TaskId)[] | 'all' | undefined;
  /** What must come besides: `signal('approved')`, `timer('2h')`, `at(date)`, or `anyOf` several. The step finds it in `ctx.cause`. By default nothing. */
  readonly when?: Wait | undefined;
}

/** The tasks of some steps of a definition, which may wait for its signals. Of no step, it is what a compiler's error is to say. */
export type TaskOf<Tasks extends Schemas, Name extends keyof Tasks, Signals extends Schemas = Schemas> = [
  Name,
] extends [never]
  ? 'flow lists no task that this step may add'
  : {
      [N in Name & string]: Task<N, Given<Tasks[N]>, keyof Signals & string, ChildInputs<Signals>>;
    }[Name & string];

/** In what tasks may wait for, the input of a child beside the schema of its output. */
export interface ChildInput<Input> {
  readonly childInput?: Input;
}

type ChildInputs<Signals> = {
  readonly [K in keyof Signals as K extends ChildName<infer Name> ? Name : never]?: Signals[K] extends ChildInput<
    infer Input
  >
    ? Input
    : never;
};

/** A task for a step: `task('credit', { orderId, cents })`, `task('merge', {}, { after: 'all' })`. */
export function task<const Name extends string, const Input, const Options extends TaskOptions = Record<never, never>>(
  step: Name,
  input: Input,
  options?: Options,
): Task<Name, Input, SignalIn<Options>, InputsIn<Options>> {
  const { after, when }: TaskOptions = options ?? {};
  const waits = when as Wait<SignalIn<Options>, InputsIn<Options>> | undefined;
  return { step, input, ...(after !== undefined && { after }), ...(waits !== undefined && { when: waits }) };
}

/** Signals that the options wait for. */
type SignalIn<Options> = Options extends { readonly when: infer When } ? SignalOf<When> : never;
type InputsIn<Options> = Options extends { readonly when: infer When } ? InputsOf<When> : never;
