/** Owns the task list's tests: a persistent list against a plain map, at sizes where its chunks split, fill and empty. */

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compareTasks, type TaskId, taskId, taskOrder } from './ids.ts';
import { TASKS_PER_CHECKPOINT_MAX, TaskList, taskRank } from './task-list.ts';

/** Properties take seconds when other work has the machine; a hang is still found. */
interface Item {
  readonly id: TaskId;
  readonly value: number;
}

const item = (id: TaskId, value = 0): Item => ({ id, value });
const inOrder = (model: ReadonlyMap<TaskId, Item>): Item[] =>
  [...model.values()].sort((a, b) => compareTasks(a.id, b.id));

type Step = { readonly op: 'set' | 'delete' | 'append'; readonly at: number; readonly count: number };

const step: fc.Arbitrary<Step> = fc.record({
  op: fc.constantFrom('set' as const, 'set' as const, 'delete' as const, 'append' as const),
  at: fc.nat(400),
  count: fc.nat(150),
});

/** Task 0.n, 1.n or 2.n, so that ranks lie far apart too. */
const idAt = (n: number): TaskId => taskId(n % 3, Math.floor(n / 3));

test('does what a map does, through any operations, and keeps every earlier list as it was', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120, size: 'max' }), (steps) => {
      let list = TaskList.empty<Item>();
      let model = new Map<TaskId, Item>();
      const kept: [TaskList<Item>, Item[]][] = [];
      steps.forEach(({ op, at, count }, n) => {
        const id = idAt(at);
        model = new Map(model);
        if (op === 'set') {
          list = list.set(item(id, n));
          model.set(id, item(id, n));
        } else if (op === 'delete') {
          list = list.delete(id);
          model.delete(id);
        } else {
          const added = Array.from({ length: count }, (_, index) => item(taskId(10 + n, index), n));
          list = list.append(added);
          for (const one of added) model.set(one.id, one);
        }
        expect(list.size).toBe(model.size);
        expect(list.get(id)).toEqual(model.get(id));
        expect(list.find(({ value }) => value >= at % 7)).toEqual(inOrder(model).find(({ value }) => value >= at % 7));
        if (n % 20 === 0) kept.push([list, inOrder(model)]);
      });
      kept.push([list, inOrder(model)]);
      for (const [earlier, items] of kept) expect([...earlier]).toEqual(items);
      expect([...TaskList.from([...model.values()].reverse())]).toEqual(inOrder(model));
    }),
    { numRuns: 25 },
  );
});

describe('ten thousand items', () => {
  const ids = Array.from({ length: 10_000 }, (_, index) => taskId(index % 7, index));

  test('are found, replaced and taken out in any order', () => {
    let list = TaskList.empty<Item>();
    // A stride that is prime to the count visits every item once, in no order of ranks.
    const shuffled = ids.map((_, n) => ids[(n * 7_919) % ids.length]!);
    for (const id of shuffled) list = list.set(item(id));
    expect(list.size).toBe(ids.length);
    expect([...list].map(({ id }) => id)).toEqual([...ids].sort(compareTasks));
    for (const id of ids) list = list.set(item(id, 1));
    expect(list.size).toBe(ids.length);
    expect([...list].every(({ value }) => value === 1)).toBe(true);
    for (const [n, id] of shuffled.entries()) {
      expect(list.get(id)?.value).toBe(1);
      list = list.delete(id);
      expect(list.size).toBe(ids.length - n - 1);
    }
    expect([...list]).toEqual([]);
  });

  test('are appended at once and one by one alike', () => {
    const items = Array.from({ length: 10_000 }, (_, index) => item(taskId(3, index)));
    const atOnce = TaskList.empty<Item>().append(items);
    const oneByOne = items.reduce((list, one) => list.append([one]), TaskList.empty<Item>());
    expect([...atOnce]).toEqual(items);
    expect([...oneByOne]).toEqual(items);
    expect(oneByOne.size).toBe(10_000);
  });
});

describe('edges', () => {
  const list = TaskList.from([item(taskId(1, 0)), item(taskId(1, 1))]);

  test('deleting what isn’t there, and appending nothing, give the same list', () => {
    expect(list.delete(taskId(0, 0))).toBe(list);
    expect(list.delete(taskId(9, 0))).toBe(list);
    expect(list.append([])).toBe(list);
    expect(TaskList.empty<Item>().delete(taskId(0, 0)).size).toBe(0);
  });

  test.each([
    ['one, before the others', list, [taskId(0, 0)]],
    ['one that is there', list, [taskId(1, 1)]],
    ['several, before the others', list, [taskId(0, 0), taskId(0, 1)]],
    ['several out of order', list, [taskId(2, 1), taskId(2, 0)]],
    [
      'one, behind a full chunk, before the others',
      TaskList.from(Array.from({ length: 64 }, (_, n) => item(taskId(5, n)))),
      [taskId(0, 0)],
    ],
    [
      'several, behind a full chunk, before the others',
      TaskList.from(Array.from({ length: 64 }, (_, n) => item(taskId(5, n)))),
      [taskId(0, 0), taskId(0, 1)],
    ],
  ])('appending is refused out of order: %s', (_, onto, ids) => {
    expect(() => onto.append(ids.map((id) => item(id)))).toThrow('order of creation');
  });

  test('ranks order tasks as their ids do', () => {
    expect(taskOrder(taskId(12, 34))).toEqual([12, 34]);
    expect(taskRank(taskId(1, 0)) - taskRank(taskId(0, TASKS_PER_CHECKPOINT_MAX - 1))).toBe(1);
    expect(compareTasks(taskId(2, 0), taskId(10, 0))).toBeLessThan(0);
    expect(compareTasks(taskId(2, 9), taskId(2, 10))).toBeLessThan(0);
    expect(compareTasks(taskId(2, 9), taskId(2, 9))).toBe(0);
  });
});
