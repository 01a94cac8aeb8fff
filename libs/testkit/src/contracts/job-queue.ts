import type { Job, JobQueue } from '@tidemark/ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';
import { definition, job, routesOf } from './job-queue-jobs.ts';
import { keptSlotTests, limitTests, orderTests } from './job-queue-order.ts';

export interface OpenedJobQueue {
  readonly queue: JobQueue;
  /** Ends it and checks that nothing is left open. */
  close(): Promise<void>;
}

export function jobQueueContract(name: string, open: () => Promise<OpenedJobQueue>): void {
  describe(`job queue contract: ${name}`, () => {
    let opened: OpenedJobQueue;
    let queue: JobQueue;
    beforeEach(async () => {
      opened = await open();
      queue = opened.queue;
    });
    afterEach(() => opened.close());

    deliveryTests(() => queue);
    concurrencyTests(() => queue);
    orderTests(() => queue);
    keptSlotTests(() => queue);
    limitTests(() => queue);
    endTests(() => queue);
  });
}

function deliveryTests(queue: () => JobQueue): void {
  test('a job arrives as it was given', async () => {
    const got: Job[] = [];
    await queue().consume({ concurrency: 4, routes: routesOf(definition) }, async (each) => void got.push(each));
    const trace = `00-${'a1'.repeat(16)}-${'b2'.repeat(8)}-01`;
    const limits = [{ key: 'k', concurrency: 9 }];
    const given = [
      job('order:42 ☂'),
      job('order:43', { trace }),
      job('order:44', { trace, dispatch: { limits } }),
      job('order:45', { dispatch: { limits } }),
    ];
    await queue().enqueue(given);
    await eventually(() => got.length === given.length);
    expect(got.toSorted((a, b) => (a.workflow < b.workflow ? -1 : 1))).toEqual(given);
  });

  test('jobs that wait before anyone consumes arrive later', async () => {
    const got = new Set<string>();
    await queue().enqueue([job('a'), job('b')]);
    await queue().enqueue([job('c')]);
    await queue().consume(
      { concurrency: 4, routes: routesOf(definition) },
      async (each) => void got.add(each.workflow),
    );
    await eventually(() => got.size === 3);
  });

  test('no jobs is a call without effect', async () => {
    await queue().enqueue([]);
    expect(await queue().depth([definition])).toEqual(new Map([[definition, 0]]));
  });

  test('a waiting job is not added twice: same workflow and time', async () => {
    await queue().enqueue([job('a'), job('a'), job('b')]);
    await Promise.all([queue().enqueue([job('a')]), queue().enqueue([job('a', { lamport: 12 }), job('b')])]);
    expect((await queue().depth([definition])).get(definition)).toBe(3);
    const got: string[] = [];
    await queue().consume({ concurrency: 9, routes: routesOf(definition) }, async (each) => {
      got.push(`${each.workflow} ${each.lamport}`);
    });
    await eventually(async () => (await queue().depth([definition])).get(definition) === 0 && got.length >= 3);
    expect(got.sort()).toEqual(['a 12', 'a 7', 'b 7']);
  });

  test('a job that was taken may be added again', async () => {
    let count = 0;
    await queue().consume({ concurrency: 1, routes: routesOf(definition) }, async () => {
      count += 1;
    });
    for (const round of [1, 2, 3]) {
      await queue().enqueue([job('again')]);
      await eventually(() => count === round);
    }
  });

  test('a consumer gets only jobs of its definitions; depth tells them apart', async () => {
    const got: string[] = [];
    await queue().enqueue([job('a', { definition: 'mine' }), job('b', { definition: 'other' })]);
    await queue().enqueue([job('c', { definition: 'other' }), job('d', { definition: 'mine' })]);
    await queue().consume({ concurrency: 4, routes: routesOf('mine', 'none') }, async (each) => {
      got.push(each.workflow);
    });
    await eventually(() => got.length === 2);
    expect(got.sort()).toEqual(['a', 'd']);
    const depth = await queue().depth(['mine', 'other', 'none']);
    expect(depth).toEqual(new Map([['mine', 0], ['other', 2], ['none', 0]])); // biome-ignore format: one fact a pair
  });

  test('a job for one build goes to who consumes for that build alone; depth counts it', async () => {
    const build = 'registry/agents:1.2~rc@sha256%40+1';
    await queue().enqueue([job('for-any'), job('for-one', { build }), job('for-other', { build: 'other' })]);
    expect(await queue().depth([definition])).toEqual(new Map([[definition, 3]]));
    const got: Job[] = [];
    const ofBuild = routesOf(definition).map((route) => ({ ...route, build }));
    await queue().consume({ concurrency: 4, routes: ofBuild }, async (each) => void got.push(each));
    await eventually(async () => (await queue().depth([definition])).get(definition) === 2 && got.length > 0);
    expect(got).toEqual([job('for-one', { build })]);
  });

  test('a consumer gets only jobs of its routes: another version, or a pinned one, is another; depth counts all', async () => {
    const got: string[] = [];
    await queue().enqueue([job('one'), job('two', { version: 2 }), job('twelve', { version: 12 })]);
    await queue().enqueue([job('pinned-one', { pinned: true }), job('pinned-two', { version: 2, pinned: true })]);
    expect(await queue().depth([definition])).toEqual(new Map([[definition, 5]]));
    const routes = [...routesOf(definition), { definition, version: 2, pinned: true }];
    const consumer = await queue().consume({ concurrency: 4, routes }, async (each) => void got.push(each.workflow));
    await queue().enqueue([job('one-more'), job('two-more', { version: 2 })]);
    await eventually(() => got.length === 3);
    await consumer.close();
    expect(got.sort()).toEqual(['one', 'one-more', 'pinned-two']);
    expect(await queue().depth([definition])).toEqual(new Map([[definition, 4]]));
    const others: Job[] = [];
    const left = [1, 2, 12].flatMap((version) => [true, false].map((pinned) => ({ definition, version, pinned })));
    await queue().consume({ concurrency: 4, routes: left }, async (each) => void others.push(each));
    await eventually(() => others.length === 4);
    expect(others).toContainEqual(job('twelve', { version: 12 }));
    expect(others).toContainEqual(job('pinned-one', { pinned: true }));
  });

  test('a route that is named twice is one', async () => {
    let count = 0;
    const routes = [...routesOf(definition), ...routesOf(definition)];
    await queue().consume({ concurrency: 1, routes }, async () => {
      count += 1;
    });
    await queue().enqueue([job('a'), job('b')]);
    await eventually(() => count === 2);
  });

  test('names of definitions of any length are apart', async () => {
    const names = ['x', 'y'].map((end) => `${'é'.repeat(500)}${end}`);
    for (const each of names) await queue().enqueue([job('w', { definition: each })]);
    expect([...(await queue().depth(names)).values()]).toEqual([1, 1]);
    const got: string[] = [];
    await queue().consume({ concurrency: 1, routes: routesOf(names[1]!) }, async (each) => {
      got.push(each.definition);
    });
    await eventually(() => got.length === 1);
    expect(got).toEqual([names[1]]);
  });

  test('definitions with alike names are apart', async () => {
    const names = ['a:b', 'a%3Ab', 'a b', 'A:b', 'a/b'];
    for (const each of names) await queue().enqueue([job('w', { definition: each })]);
    const depth = await queue().depth(names);
    expect([...depth.values()]).toEqual(names.map(() => 1));
  });

  test('a failing handler loses neither the consumer nor later jobs', async () => {
    const got: string[] = [];
    await queue().consume({ concurrency: 2, routes: routesOf(definition) }, async (each) => {
      got.push(each.workflow);
      throw new Error('handler');
    });
    await queue().enqueue([job('a'), job('b')]);
    await eventually(() => got.length === 2);
    await queue().enqueue([job('c')]);
    await eventually(() => got.length === 3);
    expect((await queue().depth([definition])).get(definition)).toBe(0);
  });
}

function concurrencyTests(queue: () => JobQueue): void {
  test('never more handlers at once than the concurrency, over all definitions; all jobs are handled', async () => {
    let running = 0;
    let most = 0;
    const got = new Set<string>();
    const held: (() => void)[] = [];
    await queue().consume({ concurrency: 5, routes: routesOf('p', 'q') }, async (each) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise<void>((resolve) => held.push(resolve));
      running -= 1;
      got.add(each.workflow);
    });
    const workflows = Array.from({ length: 100 }, (_, index) => `w${index}`);
    await queue().enqueue(workflows.map((each, index) => job(each, { definition: index % 2 ? 'p' : 'q' })));
    await eventually(() => running === 5);
    await eventually(() => {
      for (const letGo of held.splice(0)) letGo();
      return got.size === 100;
    });
    expect(most).toBe(5);
  });

  test('what a busy consumer leaves, another takes', async () => {
    const held: (() => void)[] = [];
    const got = new Set<string>();
    const options = { concurrency: 3, routes: routesOf(definition) };
    await queue().consume(options, () => new Promise<void>((resolve) => held.push(resolve)));
    await queue().enqueue(Array.from({ length: 40 }, (_, index) => job(`w${index}`)));
    await eventually(() => held.length === 3);
    await queue().consume(options, async (each) => void got.add(each.workflow));
    await eventually(() => got.size === 37);
    for (const letGo of held) letGo();
  });

  test('a thousand jobs at once', async () => {
    const got = new Set<string>();
    const held: (() => void)[] = [];
    await queue().consume({ concurrency: 1_000, routes: routesOf(definition) }, (each) => {
      got.add(each.workflow);
      return new Promise<void>((resolve) => held.push(resolve));
    });
    await queue().enqueue(Array.from({ length: 1_000 }, (_, index) => job(`w${index}`)));
    await eventually(() => got.size === 1_000);
    expect(held.length).toBe(1_000);
    for (const letGo of held) letGo();
  });
}

function endTests(queue: () => JobQueue): void {
  test('close waits for what is under way and takes nothing more', async () => {
    const started: string[] = [];
    let letGo = () => {};
    let ended = false;
    const consumer = await queue().consume({ concurrency: 1, routes: routesOf(definition) }, async (each) => {
      started.push(each.workflow);
      await new Promise<void>((resolve) => {
        letGo = resolve;
      });
      ended = true;
    });
    await queue().enqueue([job('first')]);
    await eventually(() => started.length === 1);
    await queue().enqueue([job('second')]);
    const closed = consumer.close();
    letGo();
    await closed;
    expect(ended).toBe(true);
    expect(started).toEqual(['first']);
    expect((await queue().depth([definition])).get(definition)).toBe(1);
  });

  test('pause takes no further job while those under way go on', async () => {
    const started: string[] = [];
    let letGo = () => {};
    const consumer = await queue().consume({ concurrency: 8, routes: routesOf(definition) }, async (each) => {
      started.push(each.workflow);
      await new Promise<void>((resolve) => {
        letGo = resolve;
      });
    });
    await queue().enqueue([job('first')]);
    await eventually(() => started.length === 1);
    await consumer.pause();
    await queue().enqueue([job('second')]);
    const other: string[] = [];
    await queue().consume(
      { concurrency: 1, routes: routesOf(definition) },
      async (each) => void other.push(each.workflow),
    );
    await eventually(() => other.length === 1);
    expect([started, other]).toEqual([['first'], ['second']]);
    letGo();
    await consumer.close();
  });

  test('closing twice is harmless', async () => {
    const consumer = await queue().consume({ concurrency: 1, routes: routesOf(definition) }, async () => {});
    await consumer.close();
    await consumer.close();
    await consumer.pause();
  });

  test('a concurrency that is none is refused', async () => {
    const bad = queue().consume({ concurrency: 0, routes: routesOf(definition) }, async () => {});
    await expect(bad).rejects.toMatchObject({ name: 'InvalidError', code: 'concurrency-invalid' });
  });
}
