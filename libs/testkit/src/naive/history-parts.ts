/** Owns drawing conditions and timers of tasks for random histories. The same choices give the same parts. */

import type { Controls } from '@tidemark/core';
import type { Loose } from './events.ts';
import { type NaiveStream, outcomeIsOpen } from './stream.ts';

/** One of the items, by a number of any size. */
export const choose = <T>(items: readonly T[], pick: number): T => items[pick % items.length]!;

/** A stream of decisions out of one number. */
export function decisions(seed: number): (below: number) => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

/** Events of a workflow's lifecycle, by act. */
export const LIFECYCLE = {
  cancel: 'CancelRequested',
  terminate: 'WorkflowTerminated',
  pause: 'PauseRequested',
  resume: 'ResumeRequested',
} as const;

function conditions(decide: (below: number) => number): Loose<Controls['WorkflowOpened']['tasks'][number]['when']> {
  const signal = { kind: 'signal', name: choose(['go', 'stop', 'more'], decide(3)) };
  const timer = { kind: 'timer', timer: `t${decide(3)}`, anchorMs: 1_000_000, delayMs: 500 };
  const approval = {
    kind: 'approval',
    name: choose(['pay', 'ship'], decide(2)),
    askedAtMs: 1_000_000,
    ...(decide(2) === 0 && { assignee: 'ann' }),
  };
  const child = { kind: 'child', child: `c${decide(3)}`, ...(decide(2) === 0 && { isVital: true as const }) };
  const all = [
    [child],
    [timer, child],
    [signal],
    [timer],
    [signal, timer],
    [signal, { kind: 'signal', name: 'other' }],
    [approval],
    [timer, approval],
  ];
  return choose(all, decide(8));
}

/** Mostly of a child that a task waits for. */
export function childEnd(stream: NaiveStream, decide: (below: number) => number): Loose<Controls['ChildClosed']> {
  const waiting = stream.tasks.flatMap(({ id, when }) =>
    when.flatMap((condition) => (condition.kind === 'child' ? [{ task: id, child: condition.child }] : [])),
  );
  const { task, child } = waiting.length > 0 ? choose(waiting, decide(97)) : { task: '0.0', child: 'c9' };
  const outcome = choose(['completed', 'completed', 'failed', 'compensated'], decide(4));
  return { task, child: decide(9) === 0 ? 'c9' : child, outcome };
}

/** Usually to a task that waits for a person. */
export function answerOf(stream: NaiveStream, decide: (below: number) => number): Loose<Controls['ApprovalGiven']> {
  const asking = stream.tasks.flatMap(({ id, when }) =>
    when.flatMap((condition) => (condition.kind === 'approval' ? [{ task: id, name: condition.name }] : [])),
  );
  const other = { task: stream.tasks[0]?.id ?? '0.0', name: 'pay' };
  const { task, name } = asking.length > 0 ? choose(asking, decide(97)) : other;
  return { task, name: decide(9) === 0 ? 'ship' : name, approved: decide(2) === 0, by: 'ann' };
}

/** Names of timers that the stream waits for, and one that nobody waits for when there are none. */
export function timersOf(stream: NaiveStream): string[] {
  const names = stream.deadline === undefined ? [] : [stream.deadline.timer];
  const tasks = stream.tasks.flatMap((task) => [
    ...task.when.flatMap((condition) => (condition.kind === 'timer' ? [condition.timer] : [])),
    ...(task.retry === null ? [] : [task.retry.timer]),
    ...task.effects.flatMap(({ pending }) => [pending?.probe, pending?.deadline].flatMap((one) => one?.timer ?? [])),
  ]);
  names.push(...tasks);
  return names.length > 0 ? names : ['nobody'];
}

/** Tokens of outstanding confirmations. */
export const tokensOf = (stream: NaiveStream): string[] =>
  stream.tasks.flatMap((task) => task.effects.flatMap(({ pending }) => pending?.token ?? []));

/** The effects whose outcome is unknown, with their tasks. */
export const openOf = (stream: NaiveStream): { readonly task: string; readonly key: string }[] =>
  stream.tasks.flatMap(({ id, effects }) => effects.filter(outcomeIsOpen).map(({ key }) => ({ task: id, key })));

/** Tasks after nothing, after some that are pending, done, siblings or to come, or after all; some with conditions. */
export function declarations(
  pending: readonly string[],
  sequence: number,
  count: number,
  decide: (below: number) => number,
): Loose<Controls['WorkflowOpened']['tasks']> {
  return Array.from({ length: count }, (_, index) => {
    const names = [...pending, '0.0', `${sequence}.0`, `${sequence}.${index}`, `${sequence}.${index + 1}`];
    const after = Array.from({ length: decide(4) }, () => choose(names, decide(97)));
    return {
      step: `s${decide(3)}`,
      after: decide(5) === 0 ? 'all' : decide(2) === 0 ? [] : after,
      when: decide(3) > 0 ? [] : conditions(decide),
    };
  });
}
