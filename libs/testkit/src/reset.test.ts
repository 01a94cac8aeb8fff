/** Owns the tests of resets: the id keeps answering, the old history stays and is superseded, and what it did is kept, undone or asked about. */

import { leftOf, streamFromJson, type WorkflowId, workflowId } from '@tidemark/core';
import type { ResetOptions } from '@tidemark/runtime';
import { child, defineEffect, defineWorkflow, signal, task } from '@tidemark/sdk';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestWorld, testWorld } from './test-world.ts';

const undone: string[] = [];
const pay = defineEffect({
  operation: 'pay',
  kind: 'irreversible',
  request: z.object({ of: z.string(), cents: z.number() }),
  response: z.object({ receipt: z.string() }),
  call: async () => ({ receipt: `r${++receipts}` }),
  probe: async () => ({ status: 'not-done' }),
  compensate: async ({ receipt }) => {
    await undoing;
    undone.push(receipt);
  },
});
let receipts = 0;
/** What a compensation waits for. */
let undoing: Promise<void> | undefined;
/** Whether the last step fails for good. */
let isBroken = false;
/** Whether the step that hears fails for good. */
let isDeaf = false;
/** Where the first step waits until the test releases it. */
let gate: { readonly reached: () => void; readonly open: Promise<void> } | undefined;

/** Nothing undoes it. */
const wire = defineEffect({
  operation: 'wire',
  kind: 'irreversible',
  request: z.object({ of: z.string() }),
  response: z.object({ receipt: z.string() }),
  call: async () => ({ receipt: `w${++receipts}` }),
});
const wiring = defineWorkflow({
  name: 'wiring',
  version: 1,
  input: z.object({ of: z.string() }),
  belief: z.object({ receipt: z.string() }),
  output: z.object({ receipt: z.string(), word: z.string() }),
  tasks: { send: z.object({}), hear: z.object({}) },
  flow: { send: ['hear'], hear: [] },
  starts: ['send'],
  signals: { word: z.string() },
  effects: [pay, wire],
  begin: () => ({ belief: { receipt: '' }, next: [task('send', {})] }),
  steps: {
    send: async (ctx) => {
      await ctx.effect(pay, { of: `${ctx.input.of} x`, cents: 1 });
      const { receipt } = await ctx.effect(wire, { of: ctx.input.of });
      return { belief: () => ({ receipt }), next: [task('hear', {}, { when: signal('word') })] };
    },
    hear: {
      retry: { attempts: 1 },
      run: ({ belief, cause }) => {
        if (isDeaf) throw new Error('a bug');
        return { done: { receipt: belief.receipt, word: cause?.kind === 'signal' ? cause.value.slice(0, 9) : '' } };
      },
    },
  },
});

const part = defineWorkflow({
  name: 'part',
  version: 1,
  input: z.object({ of: z.string() }),
  belief: z.object({}),
  output: z.object({ receipt: z.string() }),
  tasks: { do: z.object({}) },
  flow: { do: [] },
  starts: ['do'],
  effects: [pay],
  begin: () => ({ belief: {}, next: [task('do', {})] }),
  steps: { do: async (ctx) => ({ done: await ctx.effect(pay, { of: ctx.input.of, cents: 1 }) }) },
});

/** Pays, waits for a word, pays again by the belief, and has a part done by a child. */
const orderOf = (version: number) =>
  defineWorkflow({
    name: 'order',
    version,
    ...(version > 1 && { upcast: { 1: {} } }),
    input: z.object({ of: z.string(), cents: z.number() }),
    belief: z.object({ cents: z.number(), receipts: z.array(z.string()), word: z.string() }),
    output: z.object({ receipts: z.array(z.string()), word: z.string() }),
    tasks: { first: z.object({}), hear: z.object({}), second: z.object({}), join: z.object({}), end: z.object({}) },
    flow: { first: ['hear'], hear: ['second'], second: ['join'], join: ['end'], end: [] },
    starts: ['first'],
    signals: { word: z.string() },
    effects: [pay],
    children: { part },
    begin: ({ cents }) => ({ belief: { cents, receipts: [], word: '' }, next: [task('first', {})] }),
    steps: {
      first: {
        retry: { attempts: 1 },
        run: async (ctx) => {
          gate?.reached();
          await gate?.open;
          const { receipt } = await ctx.effect(pay, { of: `${ctx.input.of} 1`, cents: ctx.input.cents });
          return { belief: (b) => ({ ...b, receipts: [receipt] }), next: [task('hear', {}, { when: signal('word') })] };
        },
      },
      hear: ({ cause }) => ({
        belief: (b) => ({ ...b, word: cause?.kind === 'signal' ? cause.value : '' }),
        next: [task('second', {})],
      }),
      second: async (ctx) => {
        const { receipt } = await ctx.effect(pay, { of: `${ctx.input.of} 2`, cents: ctx.belief.cents });
        return {
          belief: (b) => ({ ...b, receipts: [...b.receipts, receipt] }),
          next: [task('join', {}, { when: child('part', { of: `${ctx.input.of} part` }) })],
        };
      },
      join: ({ cause }) => {
        const receipt = cause?.kind === 'child' && cause.outcome === 'completed' ? cause.output.receipt : 'none';
        return { belief: (b) => ({ ...b, receipts: [...b.receipts, receipt] }), next: [task('end', {})] };
      },
      end: {
        retry: { attempts: 1 },
        run: ({ belief: { receipts: all, word } }) => {
          if (isBroken) throw new Error('a bug');
          return { done: { receipts: [...all], word } };
        },
      },
    },
  });

const order = orderOf(1);
const newer = orderOf(2);

let world: TestWorld;
beforeAll(async () => {
  world = await testWorld({ workflows: [order, newer, part, wiring] });
});
afterAll(() => world.close());

let ids = 0;
const reset = (of: string, options: Partial<ResetOptions>) =>
  world.client.reset(of, {
    ...{ id: `reset ${++ids}`, by: 'ana', why: 'a test', effects: 'keep', definitions: [order, newer, part, wiring] },
    ...options,
  });
const start = async (id: string) => {
  const run = await world.start(order, { of: id, cents: 100 }, { id, tags: ['t'], user: 'ana' });
  return run;
};
const hear = (id: string, word = 'go') => world.client.signal(id, 'word', word);
const row = async (id: string) => (await world.ports.store.workflow(workflowId(id)))!;
const statusOf = async (id: string) => `${(await row(id)).status} ${(await row(id)).reason}`;
const calls = (of: string) =>
  world
    .calls(pay)
    .map(({ request }) => (request as { of: string }).of)
    .filter((each) => each.startsWith(`${of} `));
const resultOf = (id: string) => world.client.run(id).result();

async function completed(id: string) {
  const run = await start(id);
  await hear(id);
  return (await run.result()) as { receipts: string[]; word: string };
}

describe('a workflow that has ended', () => {
  it('begins again at a checkpoint: the id answers with the new end, what was done is kept, and the old history stays', async () => {
    const before = await completed('e1');
    const done = await reset('e1', { at: 1 });
    expect(done).toMatchObject({ workflow: 'e1', run: 'e1~2', at: 1, created: true, undo: null });
    expect(done.calls.map(({ becomes }) => becomes)).toEqual(['kept']);
    expect(done.children).toEqual([{ workflow: 'e1~3.0', status: 'completed', becomes: 'answers' }]);
    // The signal that a superseded step had read is delivered again, the effect and the child answer.
    expect(await resultOf('e1')).toEqual(before);
    expect(await resultOf('e1~2')).toEqual(before);
    expect(calls('e1')).toEqual(['e1 1', 'e1 2', 'e1 part']);
    expect(await statusOf('e1')).toBe('completed null');
    expect(await row('e1~2')).toMatchObject({ tags: ['t'], user: 'ana', fork: { workflow: 'e1', sequence: 1 } });
    expect(await row('e1~2~2.0' as WorkflowId)).toBeUndefined();
  });

  it('is reset once by a request, and once by two of which one wins', async () => {
    await completed('e2');
    const [one, other] = await Promise.allSettled([
      reset('e2', { at: 1, id: 'one' }),
      reset('e2', { at: 2, id: 'other', by: 'bob' }),
    ]);
    const outcomes = [one, other].map(({ status }) => status).sort();
    expect(outcomes).toEqual(['fulfilled', 'rejected']);
    const [won, lost] = one.status === 'fulfilled' ? ['ana', other] : ['bob', one];
    expect(lost).toMatchObject({ reason: { code: 'workflow-reset', details: { by: won } } });
    const id = won === 'ana' ? 'one' : 'other';
    expect(await reset('e2', { at: 1, id })).toMatchObject({ run: 'e2~2', created: false });
    expect(await world.ports.store.workflow('e2~3' as WorkflowId)).toBeUndefined();
  });

  it('is undone from the checkpoint on before it begins again', async () => {
    const before = await completed('e3');
    undone.length = 0;
    const hold = Promise.withResolvers<void>();
    undoing = hold.promise;
    const done = await reset('e3', { at: 1, effects: 'undo' });
    expect(done).toMatchObject({ undo: 'e3~undo', calls: [{ operation: 'pay', becomes: 'undone' }] });
    // Coordinators find it by this, and read no others that are paused.
    await eventually(async () => expect(await statusOf('e3~2')).toBe('open undoing'));
    undoing = undefined;
    hold.resolve();
    const after = (await resultOf('e3')) as typeof before;
    expect(undone).toEqual([before.receipts[1]]);
    expect(calls('e3')).toEqual(['e3 1', 'e3 2', 'e3 part', 'e3 2', 'e3 part']);
    expect(after.receipts[0]).toBe(before.receipts[0]);
    expect(await statusOf('e3~undo')).toBe('completed null');
  });

  it('asks about what an undo leaves: done or unknown, whoever undid it, and also when it is reset again', async () => {
    const wired = (of: string) => world.calls(wire).filter(({ request }) => (request as { of: string }).of === of);
    const asked = (pays: string) => ({
      calls: [
        { operation: 'pay', becomes: pays },
        { operation: 'wire', becomes: 'asked' },
      ],
    });
    const answer = { resolution: 'done', by: 'ana', why: 'it was right' } as const;
    const run = await world.start(wiring, { of: 'u1' }, { id: 'u1' });
    await hear('u1');
    const before = await run.result();
    expect(await reset('u1', { at: 0, effects: 'undo' })).toMatchObject(asked('undone'));
    await eventually(async () => expect(await statusOf('u1~2')).toBe('parked effect-done-before'));
    await world.client.terminate('u1', { by: 'ana', why: 'x' });
    expect(await reset('u1', { at: 0 })).toMatchObject({ run: 'u1~3' });
    await eventually(async () => expect(await statusOf('u1~3')).toBe('parked effect-done-before'));
    await world.client.decide('u1~3', { ...answer, response: { receipt: 'w1' } });
    expect(await resultOf('u1')).toMatchObject({ word: 'go' });
    await world.start(wiring, { of: 'u2' }, { id: 'u2' });
    await eventually(async () => expect((await row('u2')).sequence).toBe(1));
    await world.client.cancel('u2', { by: 'ana', why: 'x' });
    await eventually(async () => expect((await row('u2')).status).toBe('compensated'));
    expect(await reset('u2', { at: 0 })).toMatchObject(asked('called'));
    await eventually(async () => expect(await statusOf('u2~2')).toBe('parked effect-done-before'));
    await world.client.decide('u2~2', answer);
    await hear('u2');
    await resultOf('u2');
    world.stub(wire, () => new Promise(() => {}));
    await world.start(wiring, { of: 'u3' }, { id: 'u3' });
    await eventually(() => expect(wired('u3')).toHaveLength(1));
    await world.client.terminate('u3', { by: 'ana', why: 'x' });
    world.stub(wire, () => ({ receipt: 'again' }));
    expect(await reset('u3', { at: 0, effects: 'undo' })).toMatchObject(asked('undone'));
    await eventually(async () => expect(await statusOf('u3~2')).toBe('parked effect-done-before'));
    expect([before, ...['u1', 'u2', 'u3'].map((of) => wired(of).length)]).toEqual([before, 1, 1, 1]);
  });

  it('asks before it repeats a call, and the recorded response is the answer by default', async () => {
    const before = await completed('e4');
    await reset('e4', { at: 1, effects: 'ask' });
    await eventually(async () => expect(await statusOf('e4~2')).toBe('parked effect-done-before'));
    await world.client.decide('e4~2', { resolution: 'retry', by: 'ana', why: 'once more' });
    await eventually(async () => expect((await row('e4~2')).epoch).toBeGreaterThan(1));
    await eventually(async () => expect(await statusOf('e4~2')).toBe('parked effect-done-before'));
    expect(calls('e4')).toEqual(['e4 1', 'e4 2', 'e4 part']);
    await world.client.decide('e4~2', { resolution: 'done', by: 'ana', why: 'it was right' });
    expect(await resultOf('e4')).toEqual(before);
    await reset('e4', { at: 0, effects: 'ask' });
    await eventually(async () => expect(await statusOf('e4~3')).toBe('parked effect-done-before'));
    await world.client.decide('e4~3', { resolution: 'not-done', by: 'ana', why: 'it was wrong' });
    await resultOf('e4');
    expect(calls('e4')).toEqual(['e4 1', 'e4 2', 'e4 part', 'e4 2']);
  });

  it('makes a call again whose outcome is discarded, under a new key or the same', async () => {
    const before = await completed('e5');
    const wrong = world.calls(pay).find(({ request }) => (request as { of: string }).of === 'e5 2')!.key;
    const planned = await reset('e5', { discard: [wrong], dryRun: true });
    expect(planned).toMatchObject({ at: 2, created: false, calls: [{ key: wrong, becomes: 'called' }] });
    expect(await world.ports.store.workflow('e5~2' as WorkflowId)).toBeUndefined();
    await reset('e5', { discard: [wrong] });
    const after = (await resultOf('e5')) as typeof before;
    expect(after.receipts[0]).toBe(before.receipts[0]);
    expect(after.receipts[1]).not.toBe(before.receipts[1]);
    const keys = () =>
      world
        .calls(pay)
        .filter(({ request }) => (request as { of: string }).of === 'e5 2')
        .map(({ key }) => key);
    expect(keys()).toEqual([wrong, 'e5~2:0.0:pay:0']);
    await reset('e5', { discard: ['e5~2:0.0:pay:0'], sameKeys: true });
    await resultOf('e5');
    expect(keys()[2]).toBe('e5~2:0.0:pay:0');
    await expect(reset('e5', { discard: ['nothing'] })).rejects.toMatchObject({ code: 'sequence-unknown' });
    await expect(reset('e5', { at: 0, discard: ['nothing'] })).rejects.toMatchObject({ code: 'effect-unknown' });
  });

  it('makes a discarded call again under the same key when it is reset again before it has made it, and not at all after an undo', async () => {
    await start('e10');
    await eventually(async () => expect((await row('e10')).sequence).toBe(1));
    const keys = () =>
      world.calls(pay).flatMap(({ key, request }) => ((request as { of: string }).of === 'e10 1' ? [key] : []));
    const again = { at: 0, discard: keys(), sameKeys: true };
    await expect(reset('e10', { ...again, effects: 'undo' })).rejects.toMatchObject({ code: 'reset-invalid' });
    await world.client.pause('e10', { by: 'ana', why: 'x' });
    await reset('e10', again);
    await reset('e10', { at: 0 });
    await world.client.resume('e10', { by: 'ana', why: 'x' });
    await hear('e10');
    await resultOf('e10');
    const [first] = keys();
    expect(keys()).toEqual([first, first]);
    // It has been made again, so this one is another.
    await reset('e10', { at: 0, discard: ['e10~3:0.0:pay:0'] });
    await resultOf('e10');
    expect(keys()).toEqual([first, first, 'e10~4:0.0:pay:0']);
  });

  it('keeps, when it is reset again, what the first reset had not come to', async () => {
    await start('e6');
    await eventually(async () => expect((await row('e6')).sequence).toBe(1));
    // What is paused stays paused, so the first reset has done nothing when the second comes.
    await world.client.pause('e6', { by: 'ana', why: 'x' });
    await reset('e6', { at: 0 });
    await reset('e6', { at: 0 });
    expect(await row('e6~2')).toMatchObject({ sequence: 0, reason: 'superseded' });
    await world.client.resume('e6', { by: 'ana', why: 'x' });
    await hear('e6');
    await resultOf('e6');
    expect(calls('e6')).toEqual(['e6 1', 'e6 2', 'e6 part']);
    expect(await row('e6~3')).toMatchObject({ status: 'completed' });
  });

  it('begins with another belief, or anew with another input', async () => {
    await completed('e7');
    const belief = { cents: 7, receipts: ['r'], word: 'given' };
    await reset('e7', { at: 2, belief });
    expect(await resultOf('e7')).toMatchObject({ word: 'given' });
    expect(world.calls(pay).filter(({ request }) => (request as { of: string }).of === 'e7 2')).toHaveLength(2);
    await completed('e9');
    await reset('e9', { at: 0, input: { of: 'e9', cents: 8 } });
    await resultOf('e9');
    expect(
      world
        .calls(pay)
        .slice(-3)
        .map(({ request }) => request),
    ).toEqual([
      { of: 'e9 part', cents: 1 },
      { of: 'e9 1', cents: 8 },
      { of: 'e9 2', cents: 8 },
    ]);
  });

  it('that failed runs on with the mended code', async () => {
    isBroken = true;
    const run = await start('e8');
    await hear('e8');
    await eventually(async () => expect((await row('e8')).status).toBe('parked'));
    await world.client.terminate('e8', { by: 'ana', why: 'x' });
    isBroken = false;
    await reset('e8', { at: 'last' });
    expect(await run.result()).toMatchObject({ word: 'go' });
    expect(calls('e8')).toEqual(['e8 1', 'e8 2', 'e8 part']);
    expect(await statusOf('e8')).toBe('failed terminated');
  });
});

describe('a workflow that runs', () => {
  it('is superseded: its holder is fenced, and no step is committed to both', async () => {
    const reached = Promise.withResolvers<void>();
    const open = Promise.withResolvers<void>();
    gate = { reached: reached.resolve, open: open.promise };
    const run = await start('r1');
    await reached.promise;
    gate = undefined;
    const done = await reset('r1', { at: 0 });
    expect(done).toMatchObject({ run: 'r1~2', created: true });
    expect(await statusOf('r1')).toBe('completed superseded');
    open.resolve();
    await hear('r1', 'late');
    expect(await run.result()).toMatchObject({ word: 'late' });
    expect((await row('r1')).sequence).toBe(0);
    expect(calls('r1')).toEqual(['r1 1', 'r1 2', 'r1 part']);
  });

  it('keeps the signals that it had received', async () => {
    await start('r2');
    await eventually(async () => expect((await row('r2')).sequence).toBe(1));
    await reset('r2', { before: 'first' });
    await eventually(async () => expect((await row('r2~2')).sequence).toBe(1));
    await world.client.pause('r2', { by: 'ana', why: 'x' });
    await hear('r2', 'kept');
    await reset('r2', { at: 0 });
    await world.client.resume('r2', { by: 'ana', why: 'x' });
    expect(await resultOf('r2')).toMatchObject({ word: 'kept' });
    expect(calls('r2')).toEqual(['r2 1', 'r2 2', 'r2 part']);
  });

  it('inherits no signal that was amended or discarded, although a task had it at the checkpoint', async () => {
    isDeaf = true;
    for (const id of ['s1', 's2']) {
      const open = Promise.withResolvers<void>();
      world.stub(wire, () => open.promise.then(() => ({ receipt: id })));
      await world.start(wiring, { of: id }, { id });
      await hear(id, 'wrong');
      open.resolve();
      await eventually(async () => expect((await row(id)).status).toBe('parked'));
    }
    isDeaf = false;
    const heard = async (id: string) => {
      const [found] = await world.ports.store.loadStreams([workflowId(id)], { payloads: false });
      return leftOf(streamFromJson(found!.state, found!.tasks))[0]!.event;
    };
    const ask = { by: 'ana', why: 'x' };
    await world.client.amendSignal('s1', await heard('s1'), 'right', ask);
    await world.client.discardSignal('s2', await heard('s2'), ask);
    for (const id of ['s1', 's2']) await reset(id, { at: 1 });
    await eventually(async () => expect((await row('s2~2')).status).toBe('open'));
    await hear('s2', 'other');
    expect(await resultOf('s1')).toMatchObject({ word: 'right' });
    expect(await resultOf('s2')).toMatchObject({ word: 'other' });
  });

  it('goes on where the next run would begin with more than fits', async () => {
    await start('r6');
    await eventually(async () => expect((await row('r6')).sequence).toBe(1));
    await world.client.pause('r6', { by: 'ana', why: 'x' });
    for (const letter of ['x', 'y']) await hear('r6', letter.repeat(600_000));
    for (const dryRun of [true, false])
      await expect(reset('r6', { at: 0, dryRun })).rejects.toMatchObject({ code: 'reset-too-large' });
    expect(await statusOf('r6')).toBe('open paused');
  });

  it('is not reset while a call of it is open, it is undone, or a child runs there', async () => {
    world.stub(pay, () => new Promise(() => {}));
    await start('r3');
    await eventually(() => expect(calls('r3')).toEqual(['r3 1']));
    await expect(reset('r3', { at: 0 })).rejects.toMatchObject({ code: 'effect-open' });
    await world.client.terminate('r3', { by: 'ana', why: 'x' });
    // It may have been made: a person decides.
    world.stub(pay, () => ({ receipt: 'again' }));
    await reset('r3', { at: 0 });
    await eventually(async () => expect(await statusOf('r3~2')).toBe('parked effect-done-before'));
  });

  it('is not reset while it is undone, and afterwards only to its opening', async () => {
    const hold = Promise.withResolvers<void>();
    undoing = hold.promise;
    await start('r4');
    await eventually(async () => expect((await row('r4')).sequence).toBe(1));
    await world.client.cancel('r4', { by: 'ana', why: 'x' });
    await eventually(async () => expect((await row('r4')).status).toBe('compensating'));
    await expect(reset('r4', { at: 0 })).rejects.toMatchObject({ code: 'workflow-compensating' });
    hold.resolve();
    undoing = undefined;
    await eventually(async () => expect((await row('r4')).status).toBe('compensated'));
    await expect(reset('r4', { at: 1 })).rejects.toMatchObject({ code: 'reset-of-compensated' });
    await reset('r4', { at: 0 });
    await hear('r4');
    await resultOf('r4');
    expect(calls('r4')).toEqual(['r4 1', 'r4 1', 'r4 2', 'r4 part']);
  });

  it('has its running child ended, and is not reset to where a task waits for one', async () => {
    world.stub(pay, ({ of }: { of: string }) => (of === 'r5 part' ? new Promise(() => {}) : { receipt: `s ${of}` }));
    await start('r5');
    await hear('r5');
    await eventually(() => expect(calls('r5')).toContain('r5 part'));
    // It runs before rows show it.
    await eventually(async () => expect(await row('r5~3.0')).toMatchObject({ status: 'open' }));
    await expect(reset('r5', { at: 3 })).rejects.toMatchObject({ code: 'fork-of-parent' });
    const done = await reset('r5', { at: 2 });
    expect(done.children).toEqual([{ workflow: 'r5~3.0', status: 'open', becomes: 'cancelled' }]);
    world.stub(pay, ({ of }: { of: string }) => ({ receipt: `t ${of}` }));
    expect(await resultOf('r5')).toMatchObject({ receipts: ['s r5 1', 's r5 2', 't r5 part'] });
    const ended = async () => `${(await row('r5~3.0')).status} ${(await row('r5~3.0')).reason}`;
    await eventually(async () =>
      expect(['open cancelling', 'parked effect-unknown', 'failed parent-closed']).toContain(await ended()),
    );
  });

  it('that is a fork, or to run with another version, is reset as any other', async () => {
    await completed('f1');
    const fork = await world.client.fork('f1', { at: 1, effects: 'live', by: 'ana', id: 'f2' });
    await hear('f2');
    await resultOf(fork.workflow);
    await reset('f2', { at: 'last', version: 2 }).catch((error: unknown) =>
      expect(error).toMatchObject({ code: 'fork-nothing-left' }),
    );
    await reset('f2', { at: 1, version: 2 });
    await resultOf('f2');
    expect(await row('f2~2')).toMatchObject({ version: 2, pinned: true, fork: { workflow: 'f2', sequence: 1 } });
    const replay = await world.client.fork('f1', { at: 1, effects: 'replay', by: 'ana', id: 'f3' });
    await expect(reset(replay.workflow, { at: 0 })).rejects.toMatchObject({ code: 'reset-of-replay' });
  });
});

describe('many workflows', () => {
  it('are reset by a job, each once: what was superseded, and what refuses, is named', async () => {
    for (const id of ['m1', 'm2', 'm3']) await completed(id);
    await reset('m3', { at: 1, by: 'bob' });
    await resultOf('m3');
    world.crash({ after: 'WorkflowOpened' });
    const filter = { definition: 'order', status: 'completed', text: 'm' } as const;
    const job = { id: 'mend', act: 'reset', filter, by: 'ana', why: 'a test', signal: null } as const;
    await world.client.bulk.start({ ...job, reset: { effects: 'keep', before: 'second' } });
    await world.fastForward(eventually(async () => (await world.client.bulk.get('mend'))?.status === 'completed'));
    const done = (await world.client.bulk.get('mend'))!;
    expect(done).toMatchObject({ doneCount: 3, refusedCount: 1 });
    expect(done.refused).toMatchObject([{ workflow: 'm3', code: 'workflow-reset' }]);
    for (const id of ['m1', 'm2', 'm3']) await resultOf(id);
    expect(['m1', 'm2', 'm3'].flatMap(calls)).toHaveLength(9);
    expect(await row('m1~2')).toMatchObject({ fork: { workflow: 'm1', sequence: 2 } });
    expect(await world.ports.store.workflow('m1~3' as WorkflowId)).toBeUndefined();
    expect(await row('m3~3')).toMatchObject({ fork: { workflow: 'm3~2' } });
  });
});
