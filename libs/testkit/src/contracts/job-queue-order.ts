/** Owns the part of JobQueue's contract about which job is next, and which waits aside. */

import type { Dispatch } from '@tidemark/core';
import type { Job, JobQueue } from '@tidemark/ports';
import { afterEach, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { definition, job, routesOf } from './job-queue-jobs.ts';

/** Takes one job after the other, each once the one before was released; `order` records them in that order. */
async function takeSlowly(queue: JobQueue, count: number, routes = routesOf(definition)): Promise<string[]> {
  const order: string[] = [];
  const consumer = await queue.consume({ concurrency: 1, routes }, async (each) => void order.push(each.workflow));
  await eventually(() => order.length >= count);
  await consumer.close();
  return order;
}

const many = (name: string, count: number, fields: Parameters<typeof job>[1] = {}): Job[] =>
  Array.from({ length: count }, (_, index) => job(`${name}${index}`, fields));

export function orderTests(queue: () => JobQueue): void {
  test("a tenant with a few jobs does not wait for another's backlog", async () => {
    await queue().enqueue(many('flood', 400, { tenant: 'flood' }));
    await queue().enqueue(many('small', 5, { tenant: 'small' }));
    const order = await takeSlowly(queue(), 405);
    const places = order.flatMap((workflow, place) => (workflow.startsWith('small') ? [place] : []));
    expect(places).toHaveLength(5);
    // In turn with the flood: every other place at the latest, whatever came before.
    expect(places.at(-1)).toBeLessThan(12);
  });

  test('a tenant that had nothing to do has saved up no turns', async () => {
    await queue().enqueue(many('early', 100, { tenant: 'early' }));
    await takeSlowly(queue(), 100);
    await queue().enqueue([...many('early-', 50, { tenant: 'early' }), ...many('late-', 50, { tenant: 'late' })]);
    const order = await takeSlowly(queue(), 100);
    const earlyCount = order.slice(0, 50).filter((workflow) => workflow.startsWith('early')).length;
    expect(earlyCount).toBeGreaterThan(15);
    expect(earlyCount).toBeLessThan(35);
  });

  test('jobs of one tenant come in the order in which they were given', async () => {
    const jobs = many('w', 100);
    for (const each of jobs) await queue().enqueue([each]);
    expect(await takeSlowly(queue(), 100)).toEqual(jobs.map(({ workflow }) => workflow));
  });

  test('a higher priority goes first, over all tenants', async () => {
    const low = many('low', 40, { dispatch: { priority: 5 } });
    const usual = many('usual', 40, { tenant: 'other' });
    const high = many('high', 40, { dispatch: { priority: 1 } });
    await queue().enqueue([...low, ...usual, ...high]);
    const order = await takeSlowly(queue(), 120);
    expect(order.map((workflow) => workflow.replace(/(?<!\d)\d+$/, ''))).toEqual([
      ...Array.from({ length: 40 }, () => 'high'),
      ...Array.from({ length: 40 }, () => 'usual'),
      ...Array.from({ length: 40 }, () => 'low'),
    ]);
  });
}

/** Jobs that run until they are released. */
function holding() {
  const begun: string[] = [];
  let waiting: (() => void)[] = [];
  let isOver = false;
  return {
    begun,
    handle: async ({ workflow }: Job): Promise<void> => {
      begun.push(workflow);
      if (!isOver) await new Promise<void>((resolve) => waiting.push(resolve));
    },
    letGo: (): void => {
      for (const resolve of waiting) resolve();
      waiting = [];
    },
    letAllGo(): void {
      isOver = true;
      this.letGo();
    },
  };
}

export function keptSlotTests(queue: () => JobQueue): void {
  let held = holding();
  // Before the queue is closed, which waits for running jobs.
  afterEach(() => held.letAllGo());

  test("a tenant that runs little begins at once, while another's long jobs and backlog want every slot", async () => {
    held = holding();
    await queue().consume({ concurrency: 32, routes: routesOf(definition) }, held.handle);
    await queue().enqueue([job('first-a', { tenant: 'flood' }), job('first-b', { tenant: 'small' })]);
    await eventually(() => held.begun.length === 2);
    held.letGo();
    await queue().enqueue(many('flood', 200, { tenant: 'flood' }));
    // Two slots are reserved in any case, and one for what the other ran before.
    await eventually(() => held.begun.length === 2 + 29);
    // One after the other, since each takes a reserved slot.
    for (const name of ['small0', 'small1']) {
      await queue().enqueue([job(name, { tenant: 'small' })]);
      await eventually(() => held.begun.includes(name));
    }
    expect(held.begun).toHaveLength(2 + 29 + 2);
    held.letAllGo();
    await eventually(() => held.begun.length === 2 + 200 + 2);
  });

  test('a narrowed consumer takes no more than it is told to, and all it can when it is widened', async () => {
    held = holding();
    const consumer = await queue().consume({ concurrency: 4, routes: routesOf(definition) }, held.handle);
    await queue().enqueue(many('first', 2));
    await eventually(() => held.begun.length === 2);
    consumer.narrow(1);
    await queue().enqueue(many('later', 5));
    held.letGo();
    await eventually(() => held.begun.length === 3);
    consumer.narrow(3);
    await eventually(() => held.begun.length === 5);
    consumer.narrow(undefined);
    await eventually(() => held.begun.length === 6);
    held.letAllGo();
    await eventually(() => held.begun.length === 7);
  });

  test('a tenant that is alone has all slots', async () => {
    held = holding();
    await queue().consume({ concurrency: 32, routes: routesOf(definition) }, held.handle);
    await queue().enqueue(many('w', 40));
    await eventually(() => held.begun.length === 32);
  });
}

export function limitTests(queue: () => JobQueue): void {
  const limited = (count: number, dispatch: Dispatch, fields: Parameters<typeof job>[1] = {}): Job[] =>
    many(`limited-${fields.tenant ?? ''}-${fields.definition ?? ''}-`, count, { ...fields, dispatch });

  const ends: (() => void)[] = [];
  // Before the queue is closed, which waits for running jobs.
  afterEach(() => {
    for (const end of ends.splice(0)) end();
  });

  /** Holds each job until it is released. */
  async function hold(concurrency = 50, routes = routesOf(definition)) {
    const held = new Map<string, () => void>();
    const begun: string[] = [];
    let isOver = false;
    ends.push(() => {
      isOver = true;
      for (const resolve of held.values()) resolve();
    });
    await queue().consume({ concurrency, routes }, async (each) => {
      begun.push(each.workflow);
      if (isOver) return;
      await new Promise<void>((resolve) => held.set(each.workflow, resolve));
    });
    const letGo = (count: number): void => {
      for (const [key, resolve] of [...held].slice(0, count)) {
        held.delete(key);
        resolve();
      }
    };
    return { held, begun, letGo };
  }

  test('no more of one key than its concurrency are under way; the others of the route go on; all are handled', async () => {
    const limits = [{ key: 'customer', concurrency: 3 }];
    const { held, begun, letGo } = await hold();
    await queue().enqueue([...limited(30, { limits }), ...many('free', 10)]);
    await eventually(() => held.size === 13);
    expect(begun.filter((workflow) => workflow.startsWith('free'))).toHaveLength(10);
    letGo(13);
    for (let done = 3; done < 30; done += 3) {
      await eventually(() => held.size === 3);
      expect(begun).toHaveLength(10 + done + 3);
      letGo(3);
    }
    expect((await queue().depth([definition])).get(definition)).toBe(0);
  });

  test('what waits for a limit still waits: it is counted, and not added twice', async () => {
    const limits = [{ key: 'one', concurrency: 1 }];
    const { held } = await hold();
    const jobs = limited(4, { limits });
    await queue().enqueue(jobs);
    await eventually(() => held.size === 1);
    await eventually(async () => (await queue().depth([definition])).get(definition) === 3);
    await queue().enqueue(jobs.slice(1));
    expect((await queue().depth([definition])).get(definition)).toBe(3);
    expect(held.size).toBe(1);
  });

  test('a key counts within its tenant, and over all of them where it says so', async () => {
    const own = [{ key: 'k', concurrency: 1 }];
    const { held, letGo } = await hold();
    await queue().enqueue(['a', 'b', 'c'].flatMap((tenant) => limited(2, { limits: own }, { tenant })));
    await eventually(() => held.size === 3);
    letGo(3);
    await eventually(() => held.size === 3);
    letGo(3);
    await eventually(() => held.size === 0);
    const all = [{ key: 'k', scope: 'fleet' as const, concurrency: 2 }];
    await queue().enqueue(['a', 'b', 'c'].flatMap((tenant) => limited(2, { limits: all }, { tenant, lamport: 50 })));
    for (let round = 0; round < 3; round += 1) {
      await eventually(() => held.size === 2);
      letGo(2);
    }
    expect((await queue().depth([definition])).get(definition)).toBe(0);
  });

  test('one with two limits begins when neither is reached', async () => {
    const { held, begun, letGo } = await hold();
    const [x, y] = [
      { key: 'x', concurrency: 1 },
      { key: 'y', concurrency: 1 },
    ];
    await queue().enqueue([job('has-x', { dispatch: { limits: [x] } })]);
    await eventually(() => held.size === 1);
    await queue().enqueue([job('has-both', { dispatch: { limits: [x, y] } })]);
    await queue().enqueue([job('has-y', { dispatch: { limits: [y] } })]);
    await eventually(() => held.size === 2);
    expect(begun).toEqual(['has-x', 'has-y']);
    letGo(2);
    await eventually(() => begun.length === 3);
    expect(begun.at(-1)).toBe('has-both');
  });

  test('a limit holds over consumers and definitions', async () => {
    const limits = [{ key: 'provider', concurrency: 2 }];
    const first = await hold(50, routesOf('p'));
    const second = await hold(50, routesOf('q'));
    const count = (): number => first.held.size + second.held.size;
    await queue().enqueue(['p', 'q'].flatMap((each) => limited(3, { limits }, { definition: each })));
    for (let round = 0; round < 3; round += 1) {
      await eventually(() => count() === 2);
      first.letGo(2);
      second.letGo(2);
    }
    await eventually(() => first.begun.length + second.begun.length === 6);
  });

  test('no more begin in the period of a rate than it says; the rest follows', async () => {
    const perMs = 400;
    const limits = [{ key: 'rate', rate: { count: 5, perMs } }];
    const atMs: number[] = [];
    await queue().consume({ concurrency: 50, routes: routesOf(definition) }, async () => {
      atMs.push(performance.now());
    });
    await queue().enqueue(limited(12, { limits }));
    await eventually(() => atMs.length === 12);
    // Handlers begin a little after their job was counted: every sixth comes a period after the one it waited for, minus that.
    const slackMs = 150;
    for (let sixth = 5; sixth < 12; sixth += 1)
      expect(atMs[sixth]! - atMs[sixth - 5]!).toBeGreaterThan(perMs - slackMs);
  });
}
