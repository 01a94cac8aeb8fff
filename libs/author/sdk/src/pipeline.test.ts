/** A pipeline from one end to the other: order, keys, hand-overs, gates, log, crashes. */

import { decodePayload, wholeSchema } from '@tidemark/codec';
import { DEFAULT_TENANT, type Json, localDay } from '@tidemark/core';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  defineWorkflow,
  doneSchema,
  FatalError,
  handoffKey,
  handoffSchema,
  handoffTargets,
  type KeyParts,
  type PipelineContext,
  passGate,
  pipeline,
  pipelineSteps,
  stepRecordIn,
  task,
} from './index.ts';

let world: TestWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

interface Item {
  readonly title: string;
  readonly words: number;
}

const calls: string[] = [];
const collect = async (_input: unknown, ctx: PipelineContext): Promise<Item[]> => {
  calls.push('collect');
  ctx.tokens(10, 3);
  ctx.log('read', { result: 'two' });
  ctx.handoff('Two items, the second is short.', ['items.json']);
  return [
    { title: 'long', words: 900 },
    { title: 'short', words: 12 },
  ];
};
const filter = (items: Item[]): Item[] => {
  calls.push('filter');
  items.sort((a, b) => a.words - b.words);
  return items.filter(({ words }) => words > 100);
};
const format = async (items: readonly Item[], ctx: PipelineContext) => {
  calls.push('format');
  const [note] = await ctx.handoffs();
  const collected = await ctx.outputs<Item[]>('collect');
  ctx.tokens(5);
  return `${items.map(({ title }) => title).join()} of ${collected.length}; ${note?.message}`;
};
const content = pipeline('content', { collect, filter, format });

it.each([
  ['the day that it is begun with', {}, '2026-03-29'],
  ['what its own date says', { date: () => 'week-13' }, 'week-13'],
])('has %s', (_, options, date) => {
  const begun = pipeline('dated', { collect }, options).begin({}, { day: '2026-03-29' });
  expect(begun.belief).toMatchObject({ date });
});

const SECRET = `gh${'p'}_${'a1B2c3D4e5F6g7H8i9J0'.repeat(2).slice(0, 36)}`;
/** What memory holds of a pipeline. */
const recordsOf = async (name: string): Promise<Json[]> => {
  const found = await world!.client.memory.memories(DEFAULT_TENANT, { subject: `pipeline:${name}`, limit: 100 });
  return found.map(({ value }) => JSON.parse(value) as Json);
};
const rowsOf = async (run: {
  checkpoints(): Promise<readonly { payload: string; tokens: number; step: string | null }[]>;
}) => (await run.checkpoints()).map((row) => ({ ...row, ...decodePayload('CheckpointCommitted', row.payload) }));

describe('a pipeline', () => {
  it('does its steps anew for another input, skips them for the same one, and says where a key of its own hides the difference', async () => {
    const seen: unknown[] = [];
    const read = (input: Json) => {
      seen.push(input);
      return JSON.stringify(input);
    };
    const folders = pipeline('folders', { read });
    const careless = pipeline('careless', { read }, { key: ({ step }) => step });
    world = await testWorld({ workflows: [folders, careless] });
    const resultOf = async (of: typeof folders, input: Json) => (await world!.start(of, input)).result();
    expect(await resultOf(folders, { folder: 'ALPHA' })).toBe('{"folder":"ALPHA"}');
    expect(await resultOf(folders, { folder: 'BETA' })).toBe('{"folder":"BETA"}');
    expect(await resultOf(folders, { folder: 'ALPHA' })).toBe('{"folder":"ALPHA"}');
    expect(seen).toEqual([{ folder: 'ALPHA' }, { folder: 'BETA' }]);

    await resultOf(careless, { folder: 'ALPHA' });
    const run = await world.start(careless, { folder: 'BETA' });
    expect(await run.result()).toBe('{"folder":"ALPHA"}');
    const [row] = await rowsOf(run);
    expect(row).toMatchObject({ lastAction: 'skipped, read is done, with another input' });
  });

  it('does a step anew that was done from something else, though its key is done', async () => {
    const made: string[] = [];
    const steps = {
      collect: (input: Json) => {
        made.push('collect');
        return { of: (input as { n?: number }).n ?? 0, at: made.length };
      },
      draft: (given: Json) => {
        made.push('draft');
        return JSON.stringify(given);
      },
    };
    const chain = pipeline('chain', steps, { date: () => '2026-01-01' });
    world = await testWorld({ workflows: [chain] });
    await (await world.start(chain, {})).result();
    // The first step's record is gone: it is done anew, and makes something else.
    await world.client.memory.remember(
      [{ subject: 'pipeline:chain', kind: 'record', key: 'done/collect_20260101', value: null }],
      { tenant: DEFAULT_TENANT },
    );
    expect(await (await world.start(chain, {})).result()).toBe('{"of":0,"at":3}');
    expect(made).toEqual(['collect', 'draft', 'collect', 'draft']);
  });

  it('skips what somebody else’s file calls done, which does not tell for which input', async () => {
    const read = () => expect.unreachable();
    const marked = pipeline('marked', { read }, { date: () => '20260520' });
    world = await testWorld({ workflows: [marked] });
    const value = { step: 'read', workflow: 'files /data', output: 'by hand', checksum: 'x' };
    const record = { subject: 'pipeline:marked', kind: 'record', key: 'done/read_20260520', value } as const;
    await world.client.memory.remember([record], { tenant: DEFAULT_TENANT });
    expect(await (await world.start(marked, { folder: 'ALPHA' })).result()).toBe('by hand');
  });

  it('runs its steps in order, each with what the one before it made, as one checkpoint each', async () => {
    world = await testWorld({ workflows: [content] });
    const run = await world.start(content, {}, { id: 'content-1' });
    expect(await run.result()).toBe('long of 2; filter is done: 1 items.');
    const rows = await rowsOf(run);
    expect(rows.map(({ step, tokens }) => [step, tokens])).toEqual([
      ['collect', 10],
      ['filter', 0],
      ['format', 5],
    ]);
    const date = localDay(Date.now()).replaceAll('-', '');
    const records = rows.map(({ output }) => stepRecordIn(output));
    expect(records.map((record) => record?.key)).toEqual(['collect', 'filter', 'format'].map((s) => `${s}_${date}`));
    expect(records[0]).toMatchObject({
      checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
      handoffs: [
        {
          ...{ from: 'collect', to: 'filter', message: 'Two items, the second is short.', artifacts: ['items.json'] },
          at: expect.stringMatching(/^\d{4}-.*Z$/),
          system_context_version: 1,
        },
      ],
    });
    expect(rows[0]!.log?.map(({ action }) => action)).toEqual(['start', 'read', 'handoff']);
  });

  it('goes on from the last step that was done when its worker dies, and repeats nothing', async () => {
    world = await testWorld({ workflows: [content] });
    calls.length = 0;
    world.crash({ after: 'CheckpointCommitted', step: 'collect' });
    world.crash({ before: 'CheckpointCommitted', step: 'format' });
    const run = await world.start(content, {}, { id: 'content-2' });
    expect(await run.result()).toBe('long of 2; filter is done: 1 items.');
    expect(world.crashCount).toBe(2);
    expect(calls).toEqual(['collect', 'filter', 'format', 'format']);
  });

  it('keeps the date of its opening in its keys', async () => {
    const dated = pipeline('dated', { only: () => 1 }, { date: (input) => (input as { day: string }).day });
    world = await testWorld({ workflows: [dated] });
    const run = await world.start(dated, { day: '2020-02-29' });
    await run.result();
    expect(stepRecordIn((await rowsOf(run))[0]!.output)?.key).toBe('only_20200229');
  });
});

it.each([
  ['2_filter', ['2_filter']],
  ['2_FILTER ', ['2_filter']],
  ['Step2', ['2_filter']],
  ['Step 2', ['2_filter']],
  ['step-2: filter', ['2_filter']],
  ['#3', ['3_draft_text']],
  ['filter', ['2_filter']],
  ['Draft text', ['3_draft_text']],
  ['Step 2 (draft text)', ['2_filter', '3_draft_text']],
  ['4', ['same']],
  ['same', ['same', '5_same'].slice(0, 1)],
  ['Same!', ['same', '5_same']],
  ['Step 9', []],
  ['end', []],
  ['', []],
])('a hand-over to %j is meant for %j', (to, targets) => {
  expect(handoffTargets(to, ['1_collect', '2_filter', '3_draft_text', 'same', '5_same'])).toEqual(targets);
});

it('a hand-over reaches the step that it names by number, also a later one, once', async () => {
  const told: string[][] = [];
  const hear = async (_: unknown, ctx: PipelineContext) =>
    void told.push((await ctx.handoffs()).map(({ message }) => message));
  const first = (_: unknown, ctx: PipelineContext) => {
    ctx.handoff('for the third', [], 'Step 3');
    ctx.handoff('for the second');
  };
  const handing = pipeline('handing', { first, second: hear, third: hear } as never);
  world = await testWorld({ workflows: [handing] });
  await (await world.start(handing, null)).result();
  expect(told).toEqual([['for the second'], ['for the third', 'second is done: null.']]);
});

it.each([
  ['Step 1', 'second', ['theirs']],
  ['Step 1', 'Reviewer', ['first was done before: 1 items.']],
  ['Step 1', 'Step 2 (third)', ['first was done before: 1 items.']],
  ['Step 1 (third)', 'second', ['first was done before: 1 items.', 'theirs']],
])('of a skipped step, a hand-over from %s to %s stands for ours where both are sure', async (from, to, heard) => {
  const second = async (_: unknown, ctx: PipelineContext) => (await ctx.handoffs()).map(({ message }) => message);
  const steps = { first: () => expect.unreachable(), second, third: (given: Json) => given };
  const taken = pipeline('taken', steps as never, { date: () => '20260520' });
  world = await testWorld({ workflows: [taken] });
  const value = { step: 'first', workflow: 'files /data', output: [1], checksum: 'x' };
  const record = { subject: 'pipeline:taken', kind: 'record' } as const;
  const handoff = { from, to, message: 'theirs', artifacts: [] };
  await world.client.memory.remember(
    [
      { ...record, key: 'done/first_20260520', value },
      { ...record, key: handoffKey('r', '1'), value: handoff },
    ],
    { tenant: DEFAULT_TENANT },
  );
  expect(await (await world.start(taken, {}, { id: 'r' })).result()).toEqual(heard);
});

it('a record whose time is no time counts from when it was written', () => {
  const done = { step: 'a', workflow: 'w', output: 1, checksum: 'x' };
  expect(doneSchema.parse({ ...done, at: 'yesterday' })).toEqual(done);
  expect(doneSchema.parse({ ...done, at: '2026-05-20T10:00:00Z' }).at).toBe('2026-05-20T10:00:00Z');
});

it('flows that are no line have no steps in order', () => {
  const form = { signals: { handoff: wholeSchema(handoffSchema, 'input', 'any') }, starts: ['a'] };
  expect(pipelineSteps({ ...form, flow: { a: ['b'], b: [] } } as never)).toEqual(['a', 'b']);
  expect(pipelineSteps({ ...form, flow: { a: ['b', 'c'], b: [], c: [] } } as never)).toBeUndefined();
  expect(pipelineSteps({ ...form, flow: { a: ['b'], b: ['a'] } } as never)).toBeUndefined();
});

describe('a gate', () => {
  it('must pass before its step is done; its evidence is kept with it', async () => {
    let attempt = 0;
    const gated = pipeline('gated', {
      draft: {
        run: () => ++attempt,
        gate: { name: 'second draft', check: (output: number) => ({ passed: output >= 2, evidence: { output } }) },
        retry: { firstDelayMs: 1 },
      },
    });
    world = await testWorld({ workflows: [gated] });
    const run = await world.start(gated, {});
    expect(await world.fastForward(run.result())).toBe(2);
    const [row] = await rowsOf(run);
    expect(stepRecordIn(row!.output)?.gate).toEqual({ name: 'second draft', evidence: { output: 2 } });
    expect(row!.log).toContainEqual(expect.objectContaining({ action: 'gate' }));
  });

  it.each([
    ['says no', () => false, /gate 'sound': false/],
    ['says nothing', () => undefined as never, /gate 'sound'/],
    [
      'throws',
      () => {
        throw new Error('no ruler');
      },
      /no ruler/,
    ],
  ])('that %s fails the run, with the evidence in the error', async (_name, check, said) => {
    const gated = pipeline('gated', {
      draft: { run: () => 1, gate: { name: 'sound', check }, retry: { attempts: 1 } },
    });
    world = await testWorld({ workflows: [gated] });
    const run = await world.start(gated, {});
    await expect(run.result()).rejects.toThrow(said);
  });
});

it('a step of any workflow can name a gate', async () => {
  const checked = defineWorkflow({
    name: 'checked',
    version: 1,
    input: z.object({}),
    belief: z.object({}),
    output: z.number(),
    tasks: { only: z.object({}) },
    flow: { only: [] },
    begin: () => ({ belief: {}, next: [task('only', {})] }),
    steps: {
      async only(ctx) {
        const { evidence } = await passGate(ctx, { name: 'even', check: (made: number) => made % 2 === 0 }, 4);
        return { done: 4, output: { evidence } };
      },
    },
  });
  world = await testWorld({ workflows: [checked] });
  const run = await world.start(checked, {});
  await run.result();
  const detail = { gate: 'even', passed: true, evidence: true };
  expect((await rowsOf(run))[0]).toMatchObject({ output: { evidence: true }, log: [{ action: 'gate', detail }] });
});

describe('a key that is done', () => {
  it('is skipped in a later run, with its output and checksum, and costs no tokens', async () => {
    world = await testWorld({ workflows: [content] });
    await (await world.start(content, {}, { id: 'first' })).result();
    calls.length = 0;
    const again = await world.start(content, {}, { id: 'again' });
    expect(await again.result()).toBe('long of 2; filter is done: 1 items.');
    expect(calls).toEqual([]);
    const [collected] = await rowsOf(again);
    expect(stepRecordIn(collected!.output)).toMatchObject({
      skipped: { workflow: 'first' },
      checksum: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(collected).toMatchObject({ tokens: 0, log: [{ action: 'skip' }, { action: 'handoff' }] });
  });

  it('is that of the run which committed it: a run that failed leaves what it did', async () => {
    let isBroken = true;
    const half = pipeline(
      'half',
      { first: () => calls.push('first'), second: () => (isBroken ? Promise.reject(new Error('broken')) : 2) },
      { retry: { attempts: 1 } },
    );
    world = await testWorld({ workflows: [half] });
    calls.length = 0;
    await expect((await world.start(half, {})).result()).rejects.toThrow('broken');
    isBroken = false;
    expect(await (await world.start(half, {})).result()).toBe(2);
    expect(calls).toEqual(['first']);
  });

  it('is known without its output where that looks like a secret: a later run does it again, and both say so', async () => {
    const only = () => {
      calls.push('only');
      return { token: SECRET };
    };
    const leaky = pipeline('leaky', { only, after: () => 'done' });
    world = await testWorld({ workflows: [leaky] });
    calls.length = 0;
    const first = await world.start(leaky, {}, { id: 'leaks' });
    await first.result();
    const again = await world.start(leaky, {});
    await again.result();
    expect(calls).toEqual(['only', 'only']);
    const [made] = await rowsOf(first);
    expect(made).toMatchObject({
      lastAction: expect.stringMatching(/not kept for later runs: it looks like a secret/),
    });
    const reported = made!.log?.find(({ action }) => action === 'withheld');
    expect(reported?.detail).toMatchObject({ result: expect.stringMatching(/output\/token .*runs the step again/) });
    const [remade] = await rowsOf(again);
    const { checksum } = stepRecordIn(made!.output)!;
    expect(remade!.log?.[0]).toMatchObject({ action: 'repeat', detail: { checksum } });
    const records = await recordsOf(leaky.name);
    expect(records).toContainEqual(expect.objectContaining({ step: 'only', checksum, output: null, isWithheld: true }));
    expect(JSON.stringify(records)).not.toContain(SECRET);
  });
});

describe('a run whose step fails for good', () => {
  it('ends with the outputs of the last one that succeeded, and says so', async () => {
    let isBroken = false;
    const make = () => (isBroken ? Promise.reject(new Error('no feed')) : { articles: 3 });
    const steps = { make, count: ({ articles }: { articles: number }) => articles };
    const options = { key: ({ step, workflow }: KeyParts) => `${step}_${workflow}`, retry: { attempts: 1 } };
    const daily = pipeline('daily', steps, { ...options, onFailure: 'last-success' });
    world = await testWorld({ workflows: [daily] });
    isBroken = true;
    await expect((await world.start(daily, {})).result()).rejects.toThrow('no feed');
    isBroken = false;
    await (await world.start(daily, {}, { id: 'good' })).result();
    isBroken = true;
    const bad = await world.start(daily, {});
    expect(await bad.result()).toBe(3);
    const [row] = await rowsOf(bad);
    expect(row).toMatchObject({ lastAction: 'failed, ends with the output of good' });
    expect(stepRecordIn(row!.output)).toMatchObject({ failure: 'no feed', output: { articles: 3 } });
  });
});

it('a run that would park for twenty equal failures ends with the last success as well', async () => {
  let isBroken = false;
  const retry = { attempts: 50, firstDelayMs: 1, factor: 1 };
  const steps = { make: () => (isBroken ? Promise.reject(new Error('no feed')) : 3) };
  const key = ({ step, workflow }: KeyParts) => `${step}_${workflow}`;
  const hourly = pipeline('hourly', steps, { key, retry, onFailure: 'last-success' });
  world = await testWorld({ workflows: [hourly] });
  await (await world.start(hourly, {}, { id: 'good' })).result();
  isBroken = true;
  expect(await world.fastForward((await world.start(hourly, {})).result())).toBe(3);
});

describe('a last success that holds a secret', () => {
  const daily = (name: string, order: readonly ['login' | 'count', 'login' | 'count']) => {
    let isBroken = false;
    const run: Record<'login' | 'count', () => Json | Promise<Json>> = {
      login: () => ({ token: SECRET }),
      count: () => (isBroken ? Promise.reject(new Error('no feed')) : 3),
    };
    const options = {
      key: ({ step, workflow }: KeyParts) => `${step}_${workflow}`,
      retry: { attempts: 1 },
      onFailure: 'last-success',
    } as const;
    const [first, second] = order;
    const made = pipeline(name).step(first, run[first]).step(second, run[second]).build(options);
    return { made, breakIt: () => (isBroken = true) };
  };

  it('stands in all the same where the run did not end with it', async () => {
    const { made, breakIt } = daily('daily', ['login', 'count']);
    world = await testWorld({ workflows: [made] });
    const good = await world.start(made, {}, { id: 'good' });
    await good.result();
    breakIt();
    expect(await (await world.start(made, {})).result()).toBe(3);
    const log = (await rowsOf(good)).at(-1)!.log;
    const detail = { key: 'last-success', result: expect.stringMatching(/the output of login/) };
    expect(log).toContainEqual(expect.objectContaining({ action: 'withheld', detail }));
    const records = await recordsOf(made.name);
    expect(records).toContainEqual(expect.objectContaining({ outputs: { count: 3 }, withheld: ['login'] }));
    expect(JSON.stringify(records)).not.toContain(SECRET);
  });

  it('does not stand in where the run ended with it, and the failure says why', async () => {
    const { made, breakIt } = daily('nightly', ['count', 'login']);
    world = await testWorld({ workflows: [made] });
    await (await world.start(made, {}, { id: 'good' })).result();
    breakIt();
    await expect((await world.start(made, {})).result()).rejects.toThrow(/no feed .*good, can't be used instead/);
  });
});

describe('mistakes', () => {
  it('are told all at once', () => {
    const wrong = { a: 1, b: { run: () => 1, gates: [] } } as never;
    expect(() => pipeline('wrong', wrong, { retries: 3 } as never)).toThrow(
      /options: retries is not known[\s\S]*b: gates is not known[\s\S]*a must be a function/,
    );
    expect(() => pipeline('empty', {})).toThrow(/name at least one step/);
    const one = pipeline('twice').step('one', () => 1);
    expect(() => one.step('one', () => 2).build()).toThrow(/step one is named twice/);
  });

  it.each([
    ['an output that is no JSON', () => new Map(), /output of step only of pipeline odd/],
    ['an output of a step that has made none', (_: unknown, ctx: PipelineContext) => ctx.outputs('later'), /later/],
    ['tokens that are no number', (_: unknown, ctx: PipelineContext) => ctx.tokens(-1), /whole numbers from 0/],
    ['a fatal error', () => Promise.reject(new FatalError('enough')), /enough/],
  ])('%s fails the run and says so', async (_name, only, said) => {
    const odd = pipeline('odd', { only, later: () => 1 }, { retry: { attempts: 1 } });
    world = await testWorld({ workflows: [odd] });
    await expect((await world.start(odd, {})).result()).rejects.toThrow(said);
  });
});
