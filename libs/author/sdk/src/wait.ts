/**
 * Owns what a task waits for besides other tasks: plain values, typed by the names of the definition's signals. A waiting task holds
 * nothing: no worker, no lease, no memory. Must not decide what has come: the fold does.
 */

import type { ParentClosePolicy } from '@tidemark/core';
import { InvalidError, parseDuration } from '@tidemark/core';
import type { ApprovalOptions, WaitRequest } from '@tidemark/runtime';

/** What a task waits for; any one of it is enough. */
export interface Wait<Signal extends string = string, Inputs = unknown> {
  readonly anyOf: readonly WaitRequest<Signal>[];
  /** Of the children that it starts, by their names: in types alone. */
  readonly inputs?: Inputs | undefined;
}

/** A signal of this name. One that came before anybody waited for it counts: each goes to one task, the oldest first. */
export const signal = <const Signal extends string>(name: Signal): Wait<Signal, never> => ({
  anyOf: [{ kind: 'signal', name }],
});

/** Distinguishes names of approvals from those of signals, in types alone. */
export type ApprovalName<Name extends string = string> = `approval ${Name}`;

/**
 * A person's answer to the definition's approval of this name: approved with the values of its form, or rejected. `assignee`: who is to
 * answer (`user:ana`, `group:leads`, `role:approver`); `title` and `detail`: shown with the question. `preset`: what the form begins with.
 */
export const approval = <const Name extends string>(
  name: Name,
  options: ApprovalOptions = {},
): Wait<ApprovalName<Name>, never> =>
  ({ anyOf: [{ kind: 'approval', name, ...options }] }) as unknown as Wait<ApprovalName<Name>, never>;

/** Distinguishes names of children from those of signals, in types alone. */
export type ChildName<Name extends string = string> = `child ${Name}`;

export interface ChildOptions {
  /** When it doesn't complete: `tell` (default) runs the task, which finds the outcome in `ctx.cause`; `fail` cancels this workflow. */
  readonly onFailure?: 'tell' | 'fail' | undefined;
  /** What happens to the child when this workflow ends first, or is compensated; `cancel` by default. */
  readonly onParentClose?: ParentClosePolicy | undefined;
}

/**
 * The end of another workflow, one of the definition's `children`, which is started for the task when that is added: its id is `{this
 * workflow}~{task}`. Its definition checks the input, as the types do.
 */
export const child = <const Name extends string, const Input>(
  name: Name,
  input: Input,
  { onFailure, onParentClose = 'cancel' }: ChildOptions = {},
): Wait<ChildName<Name>, { readonly [N in Name]: Input }> =>
  ({
    anyOf: [{ kind: 'child', name, input, onClose: onParentClose, ...(onFailure === 'fail' && { isVital: true }) }],
  }) as unknown as Wait<ChildName<Name>, { readonly [N in Name]: Input }>;

/** A time after the task was added: `90s`, `15m`, `36h`, `7d`, or milliseconds; at most ten years. Throws `InvalidError` (`duration-invalid`). */
export function timer(duration: string | number): Wait<never, never> {
  const delayMs = typeof duration === 'string' ? parseDuration(duration) : duration;
  if (typeof delayMs === 'number' && Number.isFinite(delayMs) && delayMs >= 0) {
    return { anyOf: [{ kind: 'timer', delayMs }] };
  }
  throw new InvalidError(
    'duration-invalid',
    `timer(${JSON.stringify(duration)}): give a whole number and a unit, such as '90s', '15m', '36h' or '7d', or milliseconds.`,
  );
}

/** At that moment, or at once where it has passed. Throws `InvalidError` (`date-invalid`). */
export function at(date: Date | string): Wait<never, never> {
  const atMs = new Date(date).getTime();
  if (Number.isFinite(atMs)) return { anyOf: [{ kind: 'at', atMs }] };
  throw new InvalidError('date-invalid', "at(…): give a Date, or a text such as '2026-03-01T09:00:00Z'.");
}

/** Whichever comes first: `anyOf(signal('approved'), timer('2h'))`. */
export const anyOf = <const Waits extends readonly Wait[]>(
  ...waits: Waits
): Wait<SignalOf<Waits[number]>, InputsOf<Waits[number]>> => ({
  anyOf: waits.flatMap((wait) => wait.anyOf) as readonly WaitRequest<SignalOf<Waits[number]>>[],
});

/** Names of the signals of a wait. */
export type SignalOf<W> = W extends Wait<infer Signal> ? Signal : never;
/** Inputs of the children of a wait, by their names. */
export type InputsOf<W> = W extends Wait<string, infer Inputs> ? Inputs : never;
