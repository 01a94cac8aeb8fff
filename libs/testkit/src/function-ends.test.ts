/** Owns the tests of how a function's calls end otherwise than with an outcome: lost races, cancellations, rollbacks. */

import {
  CancelledError,
  defineEffect,
  defineFunction,
  done,
  type FunctionContext,
  notDone,
  type TaskId,
  type WorkflowId,
} from '@tidemark/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { crashEverywhere } from './crash-everywhere.ts';
import { type TestWorld, testWorld } from './test-world.ts';

let world: TestWorld;
afterEach(() => world?.close());

/** What was done outside, in order. */
const did: string[] = [];
beforeEach(() => void did.splice(0));
const keys = new Set<string>();
const act = (operation: string, undo = false) =>
  defineEffect({
    operation,
    kind: 'idempotent',
    request: z.object({ what: z.string() }),
    response: z.json(),
    call: async ({ what }, { key }) => {
      if (!keys.has(key)) did.push(`${operation} ${what}`);
      keys.add(key);
      return what;
    },
    probe: async (key, { request }) => (keys.has(key) ? done(request.what) : notDone()),
    ...(undo && { compensate: async (what: unknown) => void did.push(`undid ${what}`) }),
  });
const tidy = act('tidy');
const book = act('book', true);
beforeEach(() => keys.clear());

const plain = { version: 1, input: z.object({}), output: z.json() };
const statusOf = async (run: string, of = world): Promise<string | undefined> =>
  (await of.client.run(run).summary())?.status;
const kindsOf = async (run: string, of = world): Promise<readonly string[]> =>
  (await of.tasksOf(run as WorkflowId)).flatMap(({ when }) => when.map(({ kind }) => kind));
type Ctx = FunctionContext<Record<never, never>, Record<never, never>>;
const waiting = async (run: string, kind: string): Promise<TaskId> => {
  const find = async () =>
    (await world.tasksOf(run as WorkflowId)).find(({ when }) => when.some((one) => one.kind === kind))?.id;
  await expect.poll(find).toBeDefined();
  return (await find())!;
};

describe('a race', () => {
  const racing = defineFunction({
    ...plain,
    name: 'racing',
    signals: { go: z.int() },
    approvals: { sure: z.object({}) },
    async run(ctx) {
      const first = await ctx.race({
        quick: () => ctx.run('quick', () => 1),
        sure: ctx.approval('sure'),
        go: ctx.signal('go'),
      });
      const next = await ctx.signal('go');
      const second = await ctx.race({ never: () => ctx.signal('go'), soon: () => ctx.run('soon', () => 2) });
      return [first.name, next, second.name];
    },
  });

  it('leaves nothing waiting of those that lost, and takes no signal from who waits next', async () => {
    world = await testWorld({ workflows: [racing] });
    const run = await world.start(racing, {});
    await waiting(run.id, 'signal');
    await expect.poll(() => kindsOf(run.id)).toEqual(['signal']);
    await world.client.signal(run.id, 'go', 7);
    expect(await run.result()).toEqual(['quick', 7, 'soon']);
  });

  it('gives back a signal that came for a wait which then lost', async () => {
    let finish = () => {};
    const slow = defineFunction({
      ...plain,
      name: 'slow',
      signals: { go: z.int() },
      effects: [tidy],
      async run(ctx) {
        // The call began first, so its outcome is decided first.
        const first = await ctx.race({
          call: () =>
            ctx.run(
              'call',
              () =>
                new Promise<void>((resolve) => {
                  finish = resolve;
                }),
            ),
          wait: async () => {
            await ctx.signal('go');
            await ctx.signal('go');
            return 0;
          },
        });
        return [first.name, await ctx.signal('go')];
      },
    });
    world = await testWorld({ workflows: [slow] });
    const run = await world.start(slow, {});
    await waiting(run.id, 'signal');
    await world.client.signal(run.id, 'go', 1);
    await world.client.signal(run.id, 'go', 2);
    finish();
    expect(await run.result()).toEqual(['call', expect.any(Number)]);
  });

  it('is the same after a crash at every boundary', async () => {
    const { outcome } = await crashEverywhere({ workflows: [racing] }, async (each) => {
      const run = await each.start(racing, {}, { id: 'r' });
      await expect.poll(() => kindsOf('r', each), { timeout: 10_000 }).toEqual(['signal']);
      await each.client.signal('r', 'go', 7);
      return run.result();
    });
    expect(outcome).toEqual(['quick', 7, 'soon']);
  });

  it('is over before the next chapter: a call that lost is recorded', async () => {
    const chapters = defineFunction({
      ...plain,
      name: 'chapters',
      effects: [tidy],
      async run(ctx) {
        if (ctx.state !== null) return ctx.state;
        const first = await ctx.race({
          quick: () => ctx.run('quick', () => 1),
          slow: () => ctx.effect(tidy, { what: 'slow' }),
        });
        return ctx.chapter(first.name);
      },
    });
    world = await testWorld({ workflows: [chapters] });
    world.stub(tidy, async () => {
      await new Promise((resolve) => setTimeout(resolve, 30));
      return null;
    });
    expect(await (await world.start(chapters, {})).result()).toBe('quick');
    expect(world.calls(tidy)).toHaveLength(1);
  });

  it('of children, and of two waits for one signal, knows which came', async () => {
    const child = defineFunction({
      ...plain,
      name: 'child',
      input: z.object({ waits: z.boolean() }),
      signals: { go: z.json() },
      run: async (ctx, { waits }) => (waits ? ctx.signal('go') : 'quick'),
    });
    const parent = defineFunction({
      ...plain,
      name: 'parent',
      children: [child],
      signals: { go: z.int() },
      async run(ctx) {
        const first = await ctx.race({
          slow: ctx.child(child, { waits: true }),
          quick: ctx.child(child, { waits: false }),
        });
        const second = await ctx.race({ one: ctx.signal('go'), other: ctx.signal('go'), late: ctx.sleep('2d') });
        return [first.name, second.name, await ctx.signal('go')];
      },
    });
    world = await testWorld({ workflows: [parent, child] });
    const run = await world.start(parent, {});
    await waiting(run.id, 'timer');
    await world.client.signal(run.id, 'go', 1);
    await world.client.signal(run.id, 'go', 2);
    expect(await run.result()).toEqual(['quick', expect.stringMatching(/^(one|other)$/), 2]);
  });

  it('is lost by a wait that is raced again, as a reminder does', async () => {
    const reminding = defineFunction({
      ...plain,
      name: 'reminding',
      signals: { go: z.int() },
      async run(ctx) {
        const go = ctx.signal('go');
        for (let reminders = 0; ; reminders++) {
          const first = await ctx.race({ go, remind: ctx.sleep('1h') });
          if (first.name === 'go') return [reminders, first.value];
        }
      },
    });
    world = await testWorld({ workflows: [reminding] });
    const run = await world.start(reminding, {});
    for (const sequence of [0, 1, 2]) {
      await expect.poll(async () => (await world.client.run(run.id).summary())?.sequence).toBeGreaterThan(sequence);
      await waiting(run.id, 'timer');
      world.advance('61m');
    }
    await expect.poll(async () => (await world.client.run(run.id).summary())?.sequence).toBeGreaterThan(3);
    await world.client.signal(run.id, 'go', 7);
    expect(await run.result()).toEqual([3, 7]);
  });

  it('has a member that throws at once', async () => {
    const rash = defineFunction({
      ...plain,
      name: 'rash',
      async run(ctx) {
        const asked = ctx.race({
          bad: () => {
            throw new Error('at once');
          },
          late: ctx.sleep('2d'),
        });
        return asked.then(
          ({ name }) => name,
          ({ message }: Error) => message,
        );
      },
    });
    world = await testWorld({ workflows: [rash] });
    expect(await (await world.start(rash, {})).result()).toBe('at once');
  });

  it('of nobody is refused', async () => {
    const empty = defineFunction({ ...plain, name: 'empty', run: async (ctx) => (await ctx.race({})) as never });
    world = await testWorld({ workflows: [empty] });
    await expect((await world.start(empty, {})).result()).rejects.toThrow('no members');
  });
});

describe('a cancelled function', () => {
  const careful = defineFunction({
    ...plain,
    name: 'careful',
    signals: { go: z.json() },
    effects: [tidy, book],
    async run(ctx) {
      try {
        await ctx.effect(book, { what: 'room' });
        return await ctx.signal('go');
      } catch (error) {
        if (!(error instanceof CancelledError)) throw error;
        await ctx.effect(tidy, { what: 'after cancel' });
        throw error;
      } finally {
        await ctx.run('clean', () => void did.push('cleaned'));
      }
    },
  });

  it('cleans up, and is then compensated', async () => {
    world = await testWorld({ workflows: [careful] });
    const run = await world.start(careful, {});
    await waiting(run.id, 'signal');
    await world.client.cancel(run.id, { by: 'ann', why: 'enough' });
    await expect(run.result()).rejects.toThrow();
    await expect.poll(() => statusOf(run.id)).toBe('compensated');
    expect(did).toEqual(['book room', 'tidy after cancel', 'cleaned', 'undid room']);
  });

  it('does so after a crash at every boundary', async () => {
    await crashEverywhere({ workflows: [careful] }, async (each) => {
      did.splice(0);
      keys.clear();
      const run = await each.start(careful, {}, { id: 'c' });
      await expect
        .poll(async () => (await each.tasksOf('c' as WorkflowId)).some(({ when }) => when.length > 0), {
          timeout: 10_000,
        })
        .toBe(true);
      await each.client.cancel('c', { by: 'ann', why: 'enough' });
      await run.result().catch(() => {});
      await expect.poll(() => statusOf('c', each), { timeout: 10_000 }).toBe('compensated');
      return [...new Set(did)];
    }).then(({ outcome }) => expect(outcome).toEqual(['book room', 'tidy after cancel', 'cleaned', 'undid room']));
  });

  it('waits for nothing more, and may return all the same', async () => {
    const stubborn = defineFunction({
      ...plain,
      name: 'stubborn',
      signals: { go: z.json() },
      async run(ctx) {
        const seen: string[] = [];
        for (const wait of [() => ctx.signal('go'), () => ctx.sleep('9d'), () => ctx.signal('go')]) {
          await Promise.resolve(wait()).catch((error: Error) => seen.push(error.constructor.name));
        }
        return seen;
      },
    });
    world = await testWorld({ workflows: [stubborn] });
    const run = await world.start(stubborn, {});
    await waiting(run.id, 'signal');
    await world.client.cancel(run.id, { by: 'ann', why: 'enough' });
    expect(await run.result()).toEqual(['CancelledError', 'CancelledError', 'CancelledError']);
  });

  it('tries its clean-up again', async () => {
    let failures = 0;
    const failing = defineFunction({
      ...plain,
      name: 'failing',
      signals: { go: z.json() },
      retry: { attempts: 3, firstDelayMs: 1 },
      async run(ctx) {
        await ctx.run('first', () => null);
        try {
          return await ctx.signal('go');
        } finally {
          await ctx.run('clean', () => {
            failures += 1;
            if (failures < 3) throw new Error('not yet');
          });
        }
      },
    });
    world = await testWorld({ workflows: [failing] });
    const run = await world.start(failing, {});
    await waiting(run.id, 'signal');
    await world.client.cancel(run.id, { by: 'ann', why: 'enough' });
    await expect(world.fastForward(run.result())).rejects.toThrow('cancelled');
    expect(failures).toBe(3);
  });

  it('is ended by a clean-up that fails, a loop of waits, or code that has changed, and says why', async () => {
    let isChanged = false;
    const define = (name: string, end: (ctx: Ctx) => Promise<unknown>) =>
      defineFunction({
        ...plain,
        name,
        retry: { attempts: 1 },
        signals: { go: z.json() },
        async run(ctx) {
          await ctx.run(isChanged ? 'other' : 'first', () => null);
          return (await end(ctx as never)) as never;
        },
      });
    const broken = define('broken', async (ctx) => {
      try {
        await ctx.signal('go' as never);
      } finally {
        await ctx.run('clean', () => Promise.reject(new Error('no disk')));
      }
    });
    const stubborn = define('stubborn', async (ctx) => {
      for (;;) await Promise.resolve(ctx.signal('go' as never)).catch(() => null);
    });
    const again = define('again', (ctx) =>
      Promise.resolve(ctx.signal('go' as never)).catch(() => ctx.chapter('once more')),
    );
    const changed = define('changed', (ctx) => Promise.resolve(ctx.signal('go' as never)));
    world = await testWorld({ workflows: [broken, stubborn, again, changed] });
    for (const [of, why] of [
      [broken, 'no disk'],
      [stubborn, 'although it is cancelled'],
      [again, 'cancelled'],
      [changed, 'now it asks for other'],
    ] as const) {
      isChanged = false;
      const run = await world.start(of, {});
      await waiting(run.id, 'signal');
      isChanged = of === changed;
      if (isChanged) world.crash({ before: 'CheckpointCommitted' });
      await world.client.cancel(run.id, { by: 'ann', why: 'enough' });
      await expect(world.fastForward(run.result())).rejects.toThrow(why);
    }
  });

  it('is ended although it awaits for ever what nobody records', async () => {
    const endless = defineFunction({
      ...plain,
      name: 'endless',
      async run(ctx) {
        await ctx.run('first', () => null);
        return new Promise<never>(() => {});
      },
    });
    world = await testWorld({ workflows: [endless] });
    const run = await world.start(endless, {});
    await expect.poll(async () => (await world.client.run(run.id).summary())?.sequence).toBe(1);
    await world.client.cancel(run.id, { by: 'ann', why: 'enough' });
    await expect(world.fastForward(run.result())).rejects.toThrow('cancelled');
  });

  it('is told in the midst of a call, which ends by its signal', async () => {
    const long = defineFunction({
      ...plain,
      name: 'long',
      async run(ctx) {
        await ctx.run('first', () => null);
        try {
          await ctx.run(
            'long',
            (signal) =>
              new Promise((_, reject) => {
                did.push('began');
                signal.addEventListener('abort', () => reject(signal.reason));
              }),
          );
        } finally {
          await ctx.run('clean', () => void did.push('cleaned'));
        }
        return null;
      },
    });
    world = await testWorld({ workflows: [long] });
    const run = await world.start(long, {});
    await expect.poll(() => did).toContain('began');
    await world.client.cancel(run.id, { by: 'ann', why: 'enough' });
    await expect(run.result()).rejects.toThrow('cancelled');
    expect(did).toEqual(['began', 'cleaned']);
  });
});

describe('a rollback', () => {
  it('calls what was registered and compensates effects, the last first', async () => {
    const trip = defineFunction({
      ...plain,
      name: 'trip',
      signals: { go: z.json() },
      effects: [tidy, book],
      async run(ctx) {
        await ctx.onRollback(tidy, { what: 'draft' });
        await ctx.effect(book, { what: 'room' });
        await ctx.onRollback(tidy, { what: 'mail' });
        return ctx.signal('go');
      },
    });
    world = await testWorld({ workflows: [trip] });
    const run = await world.start(trip, {});
    await waiting(run.id, 'signal');
    await world.client.cancel(run.id, { by: 'ann', why: 'enough' });
    await expect.poll(() => statusOf(run.id)).toBe('compensated');
    expect(did).toEqual(['book room', 'tidy mail', 'undid room', 'tidy draft']);
  });
});
