/**
 * A call whose request differs at a later attempt, as one with a time or a random id does: a model gets what was recorded, under the same key
 * and byte for byte, and an effect asks a person unless it says otherwise. Nothing is paid twice, and no answer goes to another call.
 */

import { decodePayload, type Payloads } from '@tidemark/codec';
import { noTelemetry, type WorkflowSummary } from '@tidemark/ports';
import { parkedQuestion } from '@tidemark/runtime';
import { defineEffect, defineWorkflow, FatalError, type StepActions, task, tool, userMessage } from '@tidemark/sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { testModel } from './test-model.ts';
import { type TestWorld, testWorld } from './test-world.ts';

/** What code without rules of determinism has in its requests. */
let moment = 0;
const now = (): string => `now is ${++moment}`;
const elsewhere = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Fails as the test says, once for each word. */
const faults: (() => unknown)[] = [];
const model = testModel((_, call) => {
  const fault = faults.shift()?.();
  if (fault !== undefined) throw fault;
  return `answer ${call}`;
});
const other = testModel(() => 'another model', { modelId: 'other' });
const sent = () => model.prompts.map((prompt) => JSON.stringify(prompt));

const effectOf = <const Kind extends 'idempotent' | 'irreversible'>(
  name: string,
  kind: Kind,
  onChanged?: 'send-recorded',
) =>
  defineEffect({
    operation: `receiver.${name}`,
    kind,
    request: z.object({ order: z.object({ lines: z.array(z.object({ at: z.string() })) }) }),
    response: z.string(),
    call: async ({ order }) => order.lines[0]!.at,
    probe: () => ({ status: 'unknown' }),
    ...(onChanged !== undefined && { onChanged }),
  });
const asking = effectOf('ask', 'idempotent');
const sending = effectOf('send', 'idempotent', 'send-recorded');
const orderOf = (at: string) => ({ order: { lines: [{ at }] } });

type Shape = (ctx: StepActions) => Promise<readonly string[]>;
const said = async (ctx: StepActions, prompt: string, more: object = {}): Promise<string> =>
  (await ctx.model({ prompt, tools: [], ...more })).text;

const SHAPES = {
  once: async (ctx) => [await said(ctx, now())],
  twice: async (ctx) => [await said(ctx, `first: ${now()}`), await said(ctx, `second: ${now()}`)],
  elsewhere: async (ctx) => {
    await elsewhere();
    return [await said(ctx, now())];
  },
  named: async (ctx) => [await said(ctx, now(), { name: 'ask' }), await said(ctx, now(), { name: 'ask again' })],
  besides: async (ctx) => Promise.all([said(ctx, now()), said(ctx, now())]),
  'besides, elsewhere': async (ctx) =>
    Promise.all(
      [1, 2].map(async () => {
        await elsewhere();
        return said(ctx, now());
      }),
    ),
  'besides, named': async (ctx) => Promise.all(['a', 'b'].map((name) => said(ctx, `${name} ${now()}`, { name }))),
  all: async (ctx) => [
    (
      await ctx.model({
        bundle: 'known',
        prompt: now(),
        tools: moment > 1 ? [] : ['look'],
        ...(moment > 1 ? {} : { schema: z.object({ z: z.string(), a: z.string().optional() }) }),
        settings: { temperature: moment, seed: 1 },
      })
    ).text,
  ],
  'another model': async (ctx) => [await said(ctx, 'the same', { model: ctx.attempt > 1 ? 'other' : 'default' })],
  'an effect that asks': async (ctx) => [await ctx.effect(asking, orderOf(now()))],
  'an effect that sends': async (ctx) => [await ctx.effect(sending, orderOf(now()))],
  caught: async (ctx) => [await said(ctx, now(), { name: 'a' }).catch(() => 'caught')],
  'a model and a closure': async (ctx) => {
    const text = await said(ctx, now());
    return [text, await ctx.run('after', now)];
  },
  kept: async (ctx) => {
    const at = await ctx.now();
    const ids = await Promise.all([ctx.uuid(), ctx.uuid(), ctx.random(), ctx.random({ name: 'drawn' })]);
    await elsewhere();
    return [at, ...ids, await ctx.now()].map(String);
  },
} satisfies Record<string, Shape>;

/** Its first attempt fails after all calls, unless the test has another fault in mind. */
const asker = defineWorkflow({
  name: 'asker',
  version: 1,
  input: z.object({ shape: z.string(), fails: z.boolean() }),
  belief: z.object({}),
  output: z.object({ texts: z.array(z.string()), first: z.array(z.string()) }),
  tasks: { one: z.object({}) },
  flow: { one: [] },
  models: { default: model, other },
  tools: {
    look: tool({ description: 'Looks.', input: z.object({ z: z.string(), a: z.string() }), run: () => 'seen' }),
  },
  bundles: { known: { budgetTokens: 4_000 } },
  retry: { attempts: 3, firstDelayMs: 0, factor: 1 },
  begin: () => ({ belief: {}, next: [task('one', {})], fragments: [userMessage('Look.')] }),
  steps: {
    async one(ctx) {
      const texts = await SHAPES[ctx.input.shape as keyof typeof SHAPES](ctx);
      if (ctx.attempt === 1) first = texts;
      if (ctx.attempt === 1 && ctx.input.fails) throw new Error('the first attempt fails');
      return { done: { texts: [...texts], first: [...first] } };
    },
  },
});
let first: readonly string[] = [];

let world: TestWorld;
const counts = new Map<string, number>();
const count = (name: string, value: number, labels: object = {}) => {
  const key = `${name} ${Object.values(labels).join(' ')}`;
  counts.set(key, (counts.get(key) ?? 0) + value);
};
const telemetry = { ...noTelemetry, count };
beforeAll(async () => {
  world = await testWorld({ workflows: [asker], telemetry });
});
afterAll(() => world.close());
beforeEach(() => {
  moment = 0;
  faults.length = 0;
  counts.clear();
  (model.prompts as unknown[]).length = 0;
});

const start = (shape: keyof typeof SHAPES, fails = true) => world.start(asker, { shape, fails });

async function warningsOf(workflow: string, of = world): Promise<readonly string[]> {
  const rows = await of.ports.store.checkpoints(workflow as never, { from: 1 as never, limit: 10 });
  return rows.flatMap(({ payload }) => {
    const { log = [] } = decodePayload('CheckpointCommitted', payload) as Payloads['CheckpointCommitted'] & object;
    return log.flatMap(({ detail }) => (detail as { readonly result?: string } | undefined)?.result ?? []);
  });
}

interface Asked {
  readonly id: string;
  summary(): Promise<WorkflowSummary | undefined>;
  result(): Promise<unknown>;
}

/** Why it no longer runs; undefined: it has a result. */
const reasonOf = (run: Asked): Promise<string | null | undefined> =>
  world.fastForward(
    run.result().then(
      () => undefined,
      async () => (await run.summary())?.reason,
    ),
  );

async function questionOf(run: Asked): Promise<string> {
  const { question } = (await run.summary())!;
  return JSON.stringify(await parkedQuestion(world.ports.store, run.id as never, question!.id));
}

describe('a model call', () => {
  it('that may have been made, and failed: what is recorded is sent again, under its key, and counted', async () => {
    faults.push(() => new Error('the provider is down'));
    const run = await start('once', false);
    expect(await world.fastForward(run.result())).toMatchObject({ texts: ['answer 2'] });
    const [once, again, ...more] = sent();
    expect(again).toBe(once);
    expect(more).toEqual([]);
    const intended = (await world.ports.store.effects(run.id as never, {})).map(({ key }) => key);
    expect(intended).toEqual([`${run.id}:0.0:model:0`]);
    expect(counts.get('requests_changed_total model sent')).toBe(1);
    expect(await warningsOf(run.id)).toEqual([
      expect.stringMatching(
        /^Call .*:model:0 .* \([0-9a-f]{12}… is recorded, [0-9a-f]{12}… was asked\)\. .* messages\[0\]\.content\[0\]\.text\. What is recorded was sent\.$/,
      ),
    ]);
  });

  it('whose worker died in it: the same, with tools, schema, settings and bundle as they were', async () => {
    world.crash({ after: 'EffectIntended', operation: 'model' });
    const run = await start('all', false);
    await world.fastForward(run.result()).catch(() => {});
    const [only] = model.prompts;
    expect(only).toMatchObject({ settings: { temperature: 1, seed: 1 }, tools: [{ name: 'look' }] });
    expect(JSON.stringify(only!.responseSchema)).toContain('"properties":{"z":');
    expect(JSON.stringify(only!.messages)).toContain('now is 1');
    expect(JSON.stringify(only!.messages)).toContain('Look.');
  });

  it.each([
    ['once', 1],
    ['twice', 2],
    ['elsewhere', 1],
    ['named', 2],
    ['besides, named', 2],
    ['another model', 1],
  ] as const)('that was answered gets its own answer, and nothing is paid again: %s', async (shape, count) => {
    const run = await start(shape);
    const { texts, first: before } = await world.fastForward(run.result());
    expect(texts).toEqual(before);
    expect(model.prompts).toHaveLength(count);
    expect(counts.get('requests_changed_total model answered')).toBe(count);
  });

  it('that is sequential is not waited with', async () => {
    const began = Date.now();
    const run = await start('twice');
    await run.result();
    expect(Date.now() - began).toBeLessThan(4_000);
  });

  it.each(['besides', 'besides, elsewhere'] as const)(
    'that another may be taken for asks a person: %s',
    async (shape) => {
      const run = await start(shape);
      expect(await reasonOf(run)).toBe('request-changed');
      expect(await questionOf(run)).toContain('Give each a name of its own');
      expect(model.prompts).toHaveLength(2);
    },
  );

  it('that failed for good is over: what the step asks now is sent', async () => {
    faults.push(() => new FatalError('refused for what it asks'));
    const run = await start('caught', true);
    expect(await world.fastForward(run.result())).toMatchObject({ texts: ['answer 2'] });
    expect(sent()[1]).toContain('now is 2');
  });

  it('of a model that failed is not in the way of another one', async () => {
    faults.push(() => new Error('the provider is down'));
    const run = await start('another model', false);
    expect(await world.fastForward(run.result())).toMatchObject({ texts: ['another model'] });
  });

  it.each(['rebuilt', 'rebuilt otherwise'] as const)(
    'whose request is the same sends the bundle that is recorded, whatever was said since: %s',
    async (how) => {
      const [called, committed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
      const asked = testModel(async (_, call) => {
        if (call > 1) return 'fine';
        called.resolve();
        await committed.promise;
        if (how === 'rebuilt otherwise') Object.assign(asked, { tokenizer: { ...asked.tokenizer, id: 'another' } });
        throw new Error('the provider is down');
      });
      const listener = defineWorkflow({
        ...{
          name: `listener-${how.length}`,
          version: 1,
          input: z.object({}),
          belief: z.object({}),
          output: z.string(),
        },
        ...{ tasks: { ask: z.object({}), tell: z.object({}), after: z.object({}) }, parallel: 2 },
        ...{ flow: { ask: [], tell: ['after'], after: [] }, starts: ['ask', 'tell'] },
        ...{ models: { default: asked }, bundles: { known: { budgetTokens: 4_000 } } },
        begin: () => ({ belief: {}, next: [task('ask', {}), task('tell', {})], fragments: [userMessage('one')] }),
        steps: {
          ask: async (ctx) => ({ done: (await ctx.model({ bundle: 'known' })).text }),
          tell: async () => {
            await called.promise;
            return { fragments: [userMessage('two')], next: [task('after', {})] };
          },
          after: () => committed.resolve(),
        },
      });
      const own = await testWorld({ workflows: [listener], telemetry });
      try {
        const run = await own.start(listener, {});
        expect(await own.fastForward(run.result())).toBe('fine');
        const [once, again] = asked.prompts.map((prompt) => JSON.stringify(prompt.messages));
        expect(again === once).toBe(how === 'rebuilt');
        expect(counts.get('requests_changed_total model rebuilt')).toBe(how === 'rebuilt' ? undefined : 1);
        const rows = await warningsOf(run.id, own);
        expect(rows).toEqual(how === 'rebuilt' ? [] : [expect.stringContaining("which can't be rebuilt")]);
      } finally {
        await own.close();
      }
    },
  );

  it('leaves what follows where it was: closures have their results', async () => {
    const run = await start('a model and a closure');
    const { texts, first: before } = await world.fastForward(run.result());
    expect(texts).toEqual(before);
  });
});

describe('an effect', () => {
  it('asks a person at once, in words that show the field and both values', async () => {
    const run = await start('an effect that asks');
    expect(await reasonOf(run)).toBe('request-changed');
    const question = await questionOf(run);
    expect(question).toContain('order.lines[0].at');
    expect(question).toContain('now is 1');
    expect(question).toContain('now is 2');
    expect(world.calls(asking)).toHaveLength(1);
  });

  it('takes the answer of the person who was asked, and asks no further', async () => {
    const run = await start('an effect that asks');
    expect(await reasonOf(run)).toBe('request-changed');
    await world.client.decide(run.id, { resolution: 'done', response: 'so be it', by: 'ann', why: 'seen' });
    expect((await world.fastForward(run.result())).texts).toEqual(['so be it']);
  });

  it('that declares it is given what was recorded', async () => {
    const run = await start('an effect that sends');
    expect((await world.fastForward(run.result())).texts).toEqual(['now is 1']);
    expect(world.calls(sending)).toHaveLength(1);
    expect(counts.get('requests_changed_total receiver.send answered')).toBe(1);
  });

  it('sends it under its key where a worker died in the call', async () => {
    const before = world.calls(sending).length;
    world.crash({ after: 'EffectIntended', operation: sending.operation });
    const run = await start('an effect that sends', false);
    expect((await world.fastForward(run.result())).texts).toEqual(['now is 1']);
    expect(world.calls(sending).slice(before)).toEqual([
      { request: orderOf('now is 1'), key: `${run.id}:0.0:receiver.send:0` },
    ]);
  });

  it('that is irreversible or pure has no such choice', () => {
    for (const kind of ['irreversible', 'pure'] as const) {
      expect(() => effectOf('never', kind as 'irreversible', 'send-recorded')).toThrow('onChanged');
    }
  });
});

it('now, random and uuid stay what they were at the first attempt', async () => {
  const run = await start('kept');
  const { texts, first: before } = await world.fastForward(run.result());
  expect(texts).toEqual(before);
  expect(new Set(texts).size).toBeGreaterThanOrEqual(5);
  expect(texts[1]).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  expect(Number(texts[3])).toBeGreaterThanOrEqual(0);
  expect(Number(texts[3])).toBeLessThan(1);
});
