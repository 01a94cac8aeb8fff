/** Owns the frontier's examples: dependencies, barriers, conditions, what blocks a task and why, and which is next. */

import { declared, signalNamed, timerNamed } from '@tidemark/testkit/naive/events';
import { describe, expect, test } from 'vitest';
import type { Retry, TaskDeclaration } from './event.ts';
import {
  addTasks,
  blockedOn,
  finishTask,
  firstUnblocked,
  fulfil,
  isUnblocked,
  matchSignals,
  updateTask,
} from './frontier.ts';
import { eventId, sequence, type TaskId, taskId } from './ids.ts';
import { EMPTY_FRONTIER, type Frontier, type TaskState } from './state.ts';

type Declared = ReturnType<typeof declared>;

const add = (frontier: Frontier, at: number, ...tasks: Declared[]): Frontier =>
  addTasks(frontier, sequence(at), tasks as readonly unknown[] as readonly TaskDeclaration[]);
const begin = (...tasks: Declared[]): Frontier => add(EMPTY_FRONTIER, 0, ...tasks);
const id = (text: string): TaskId => text as TaskId;
const finish = (frontier: Frontier, ...ids: string[]): Frontier =>
  ids.reduce((left, one) => finishTask(left, id(one)), frontier);
const task = (frontier: Frontier, one: string): TaskState => frontier.tasks.get(id(one))!;
const unblocked = (frontier: Frontier): string[] => [...frontier.tasks].filter(isUnblocked).map((one) => one.id);

describe('dependencies', () => {
  test('a task runs once those it names are done, in whatever order', () => {
    const frontier = begin(declared('a'), declared('b'), declared('join', ['0.0', '0.1']));
    expect(unblocked(frontier)).toEqual(['0.0', '0.1']);
    expect(blockedOn(task(frontier, '0.2'))).toEqual([{ on: 'tasks', tasks: ['0.0', '0.1'] }]);
    const half = finish(frontier, '0.1');
    expect(blockedOn(task(half, '0.2'))).toEqual([{ on: 'tasks', tasks: ['0.0'] }]);
    expect(unblocked(finish(half, '0.0'))).toEqual(['0.2']);
  });

  test('a task that was done before it is named blocks nobody', () => {
    const frontier = add(finish(begin(declared('a'), declared('b')), '0.0'), 1, declared('c', ['0.0', '0.1', '0.1']));
    expect(task(frontier, '1.0').after).toEqual(['0.1']);
  });

  test('a task may name siblings before it; itself and those after it count as done', () => {
    const frontier = add(begin(declared('a')), 1, declared('b', ['1.0', '1.1']), declared('c', ['1.0']));
    expect(task(frontier, '1.0').after).toEqual([]);
    expect(task(frontier, '1.1').after).toEqual(['1.0']);
  });

  test('a task that is done while it was blocked leaves no trace', () => {
    const frontier = finish(begin(declared('a'), declared('b', ['0.0']), declared('c', ['0.0'])), '0.1');
    expect([...frontier.waiting]).toEqual([{ id: '0.0', dependents: ['0.2'] }]);
    expect([...finish(frontier, '0.2').waiting]).toEqual([]);
  });

  test('finishing what isn’t there changes nothing', () => {
    const frontier = begin(declared('a'), declared('b', ['0.0']), declared('join', 'all'));
    expect(finish(frontier, '7.0')).toEqual(frontier);
  });
});

describe('barriers', () => {
  test('`all` waits for every task that was created before, and for none created after', () => {
    const frontier = begin(declared('a'), declared('b'), declared('join', 'all'), declared('c'));
    expect(blockedOn(task(frontier, '0.2'))).toEqual([{ on: 'all-earlier', remainingCount: 2 }]);
    expect(unblocked(finish(frontier, '0.3'))).toEqual(['0.0', '0.1']);
    const half = finish(frontier, '0.1');
    expect(blockedOn(task(half, '0.2'))).toEqual([{ on: 'all-earlier', remainingCount: 1 }]);
    // Tasks that `a` adds when it is done don't delay the barrier.
    const done = add(finish(half, '0.0'), 1, declared('more'));
    expect(unblocked(done)).toEqual(['0.2', '0.3', '1.0']);
    expect(done.barriers).toEqual([]);
  });

  test('two of them wait in order of creation, never for each other', () => {
    const frontier = begin(declared('a'), declared('first', 'all'), declared('second', 'all'));
    expect(unblocked(finish(frontier, '0.0'))).toEqual(['0.1']);
    expect(unblocked(finish(frontier, '0.0', '0.1'))).toEqual(['0.2']);
  });

  test('with nothing pending before it, it doesn’t wait', () => {
    expect(unblocked(begin(declared('alone', 'all')))).toEqual(['0.0']);
    expect(unblocked(add(finish(begin(declared('a')), '0.0'), 1, declared('think', 'all')))).toEqual(['1.0']);
  });
});

describe('what blocks a task', () => {
  test('every reason is told, with names and due times', () => {
    const when = [signalNamed('approved'), signalNamed('declined'), timerNamed('reminder', 500)];
    const frontier = begin(declared('a'), declared('b', ['0.0'], when));
    const retry: Retry = { timer: 'retry', anchorMs: 2_000, delayMs: 250 };
    const failed = updateTask(frontier, { ...task(frontier, '0.1'), failureCount: 2, retry });
    expect(blockedOn(task(failed, '0.1'))).toEqual([
      { on: 'tasks', tasks: ['0.0'] },
      { on: 'signal', names: ['approved', 'declined'] },
      { on: 'timer', timer: 'reminder', dueAtMs: 1_000_500 },
      { on: 'retry', failureCount: 2, dueAtMs: 2_250 },
    ]);
    expect(blockedOn(task(failed, '0.0'))).toEqual([]);
  });

  test('`blockedOn` is empty exactly when the task is unblocked', () => {
    const frontier = begin(
      declared('a'),
      declared('b', ['0.0']),
      declared('c', 'all'),
      declared('d', [], [signalNamed('go')]),
    );
    const retry: Retry = { timer: 'retry', anchorMs: 2_000, delayMs: 250 };
    const failed = { ...task(frontier, '0.0'), failureCount: 1, retry };
    for (const one of [...frontier.tasks, failed]) expect(blockedOn(one).length === 0).toBe(isUnblocked(one));
  });
});

describe('the next task', () => {
  const frontier = begin(declared('a', [], [signalNamed('go')]), declared('b'), declared('c'), declared('d', 'all'));

  test('is the first unblocked one in order of creation', () => {
    expect(firstUnblocked(frontier)?.id).toBe('0.1');
    expect(firstUnblocked(EMPTY_FRONTIER)).toBeUndefined();
  });

  test('is not one of those to skip', () => {
    expect(firstUnblocked(frontier, new Set([id('0.1')]))?.id).toBe('0.2');
    expect(firstUnblocked(frontier, new Set([id('0.1'), id('0.2')]))).toBeUndefined();
  });

  test('order of creation is by sequence, then index, as numbers', () => {
    let tasks = begin(...Array.from({ length: 12 }, () => declared('a')));
    tasks = add(tasks, 10, declared('later'));
    tasks = add(tasks, 11, declared('last'));
    const order: string[] = [];
    for (let next = firstUnblocked(tasks); next !== undefined; next = firstUnblocked(tasks)) {
      order.push(next.id);
      tasks = finishTask(tasks, next.id);
    }
    expect(order).toEqual([...Array.from({ length: 12 }, (_, index) => taskId(0, index)), '10.0', '11.0']);
  });
});

describe('signals and timers', () => {
  const go = { kind: 'signal', name: 'go', event: eventId('e') } as const;

  test('a cause goes to the first task that waits for it, whatever else blocks it', () => {
    const frontier = begin(
      declared('a'),
      declared('b', ['0.0'], [signalNamed('go')]),
      declared('c', [], [signalNamed('go')]),
    );
    const fulfilled = fulfil(frontier, go)!;
    expect(task(fulfilled, '0.1')).toMatchObject({ cause: go, when: [], after: ['0.0'] });
    expect(task(fulfilled, '0.2').cause).toBeNull();
  });

  test('a signal is no timer of the same name, and nobody’s cause is undefined', () => {
    const frontier = begin(declared('a', [], [timerNamed('go')]));
    expect(fulfil(frontier, go)).toBeUndefined();
    expect(task(fulfil(frontier, { ...go, kind: 'timer' })!, '0.0').when).toEqual([]);
  });

  test('stored signals are matched oldest first, and what nobody waits for stays', () => {
    const frontier = begin(
      declared('a', [], [signalNamed('go')]),
      declared('b', [], [signalNamed('stop'), signalNamed('go')]),
    );
    const stored = ['other', 'go', 'stop', 'go'].map((name, at) => ({ name, event: eventId(`e${at}`) }));
    const { frontier: after, signals } = matchSignals(frontier, stored);
    expect([...after.tasks].map((one) => one.cause?.event)).toEqual(['e1', 'e2']);
    expect(signals.map(({ event }) => event)).toEqual(['e0', 'e3']);
  });

  test('without a match both come back as they were', () => {
    const frontier = begin(declared('a'));
    const stored = [{ name: 'go', event: eventId('e') }];
    const result = matchSignals(frontier, stored);
    expect(result.frontier).toBe(frontier);
    expect(result.signals).toBe(stored);
  });
});
