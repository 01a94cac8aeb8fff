import { type InvalidError, type Json, taskId, workflowId, ZERO } from '@tidemark/core';
import type { StepContext } from '@tidemark/runtime';
import { unlistedWarnings } from '@tidemark/runtime';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineEffect } from './effect.ts';
import { task } from './task.ts';
import { defineWorkflow } from './workflow.ts';
import type { Workflow } from './workflow-spec.ts';

const issueCredit = defineEffect({
  operation: 'payments.credit',
  kind: 'irreversible',
  request: z.object({ cents: z.number().int() }),
  response: z.object({ creditId: z.string() }),
  call: ({ cents }) => ({ creditId: `c${cents}` }),
});

const spec = {
  name: 'refund',
  version: 2,
  input: z.object({ orderId: z.string() }),
  belief: z.object({ cents: z.number().optional(), notes: z.array(z.string()).default([]) }),
  output: z.object({ creditId: z.string() }),
  tasks: { price: z.object({ orderId: z.string() }), credit: z.object({ cents: z.number() }) },
  flow: { price: ['credit'], credit: [] },
  begin: ({ orderId }: { orderId: string }) => ({ belief: {}, next: [task('price', { orderId })] }),
  steps: { price: async () => ({}), credit: async () => ({}) },
};

/** A definition of any shape, as someone without types might write it. */
const define = (change: object): Workflow => defineWorkflow({ ...spec, ...change } as never);

function problems(change: object): readonly { readonly code: string; readonly message: string }[] {
  try {
    define(change);
    return [];
  } catch (error) {
    expect(error).toMatchObject({ code: 'definition-invalid' });
    return (error as InvalidError).details.problems as { code: string; message: string }[];
  }
}

/** What the runtime hands to a step, as far as these tests need it. */
const context = (belief: Json = { notes: [] }): StepContext => ({
  workflow: workflowId('refund-1'),
  task: taskId(0, 0),
  step: 'price',
  claim: {},
  sequence: ZERO.sequence,
  attempt: 1,
  stored: (value) => value,
  clockMs: () => 0,
  pause: async () => {},
  chance: () => '',
  hasCalled: false,
  cancelled: undefined,
  mayRetry: () => true,
  traceparent: '',
  input: { orderId: 'o1' },
  belief,
  cause: null,
  signal: new AbortController().signal,
  run: async (_name, body) => (await body(new AbortController().signal)) as Json,
  now: async () => 0,
  random: async () => 0,
  uuid: async () => '',
  effect: async (effect, request) =>
    effect.parseResponse(
      await effect.call(effect.parseRequest(request), {
        key: 'k' as never,
        signal: null as never,
        heartbeat: () => {},
      }),
    ),
  log: () => {},
  progress: () => {},
  outputs: async (step) => [step],
  journal: async () => [],
  session: undefined,
  user: undefined,
  memory: { phase: undefined, keys: [], get: (key) => key },
  memories: async () => [],
  recall: async () => ({ entries: [], by: 'words', warning: null }),
  modelCall: async () => {
    throw new Error('no model');
  },
});

const step = (change: object, name = 'price') => define(change).steps.get(name)!;
/** Runs a step price that is this function. */
const running = async (price: unknown, change: object = {}, given = context()) =>
  step({ ...change, steps: { ...spec.steps, price } }).run(given, { orderId: 'o1' });

describe('a definition', () => {
  it('becomes what the runtime consumes, with documented defaults', () => {
    const refund = defineWorkflow(spec as never) as Workflow;
    expect(refund).toMatchObject({ name: 'refund', version: 2, parallel: 8, warnings: [] });
    expect(refund.starts).toEqual(['price']);
    expect(step({})).toMatchObject({ name: 'price', durability: 'durable', retry: { attempts: 5, firstDelayMs: 200 } });
    expect(step({}).mayAdd).toEqual(new Set(['credit']));
  });

  it('lets a step say otherwise than the workflow', () => {
    const change = {
      durability: 'staged',
      retry: { attempts: 9, factor: 3 },
      steps: { ...spec.steps, credit: { durability: 'durable', retry: { attempts: 2 }, run: () => ({}) } },
    };
    expect(step(change, 'price')).toMatchObject({ durability: 'staged', retry: { attempts: 9, factor: 3 } });
    expect(step(change, 'credit')).toMatchObject({ durability: 'durable', retry: { attempts: 2, factor: 3 } });
  });

  it.each<[string, object, string, RegExp]>([
    ['a bad name', { name: 'a b' }, 'name-invalid', /name "a b"/],
    ['a version of 0', { version: 0 }, 'version-invalid', /version must be/],
    ['a broken version', { version: 1.5 }, 'version-invalid', /version must be/],
    ['staging of nothing', { staging: { steps: 0 } }, 'staging-invalid', /staging.steps must be .* between 1 and 1000/],
    ['staging for long', { staging: { delayMs: 60_000 } }, 'staging-invalid', /staging.delayMs must be/],
    ['staging otherwise', { staging: { count: 3 } }, 'option-unknown', /staging: count is not known/],
    ['no begin', { begin: undefined }, 'begin-missing', /begin must be/],
    ['no tasks', { tasks: undefined }, 'part-missing', /tasks must be an object/],
    ['a task that no step handles', { steps: { price: () => ({}) } }, 'step-missing', /no step handles task credit/],
    ['a step without a task', { steps: { ...spec.steps, x: () => ({}) } }, 'step-unknown', /steps.x has no input/],
    ['a step that is no function', { steps: { ...spec.steps, credit: 5 } }, 'step-invalid', /steps.credit must be/],
    ['flow to nowhere', { flow: { price: ['x'], credit: [] } }, 'reference-unknown', /flow.price names x/],
    ['flow from nowhere', { flow: { ...spec.flow, x: [] } }, 'reference-unknown', /flow names x/],
    ['no flow of a step', { flow: { price: ['credit'] } }, 'flow-missing', /flow.credit is missing/],
    ['an unknown start', { starts: ['x'] }, 'reference-unknown', /starts names x/],
    ['no clear start', { flow: { price: [], credit: [] } }, 'starts-missing', /starts: \['price', 'credit'\]/],
    ['an unreached step', { starts: ['credit'] }, 'step-unreached', /step price is never reached/],
    ['what to do on failure, misspelt', { onFailure: 'undo' }, 'on-failure-invalid', /'fail' or 'compensate'/],
    ['an undo without a list', { onFailure: 'compensate' }, 'effects-unlisted', /list the workflow's effects/],
    ['a control arm of more than all', { recall: { controlShare: 10 } }, 'recall-invalid', /from 0 to 1/],
    ['a budget of no steps', { stepBudget: 0 }, 'step-budget-invalid', /whole number/],
    ['an upcaster for a newer version', { upcast: { 2: {} } }, 'upcast-invalid', /upcast.2 is for no older version/],
    ['an upcaster for no version', { upcast: { v1: {} } }, 'upcast-invalid', /upcast.v1 is for no older/],
    ['a gap of upcasters', { version: 3, upcast: { 1: {} } }, 'upcast-invalid', /upcast.2 is missing/],
    ['a misspelt upcaster', { upcast: { 1: { beliefs: () => 1 } } }, 'option-unknown', /upcast.1: beliefs/],
    ['belief that is no upcaster', { upcast: { 1: { belief: {} } } }, 'upcast-invalid', /belief must be a function/],
    [
      'a task that is no upcaster',
      { upcast: { 1: { tasks: { a: 'b' } } } },
      'upcast-invalid',
      /tasks.a must be a func/,
    ],
    ['an output of nowhere', { outputs: { x: z.string() } }, 'reference-unknown', /outputs names x/],
    ['a belief that is no schema', { belief: {} }, 'schema-missing', /belief must be a zod 4 schema/],
    ['a date in belief', { belief: z.object({ at: z.date() }) }, 'schema-not-storable', /belief at at: a date/],
    [
      'a bigint in a task',
      { tasks: { ...spec.tasks, price: z.bigint() } },
      'schema-not-storable',
      /tasks.price: a big/,
    ],
    ['no parallelism', { parallel: 0 }, 'parallel-invalid', /parallel must be/],
    ['an unknown placement', { placement: 'here' }, 'placement-invalid', /placement must be/],
    ['an unknown durability', { durability: 'no' }, 'durability-invalid', /durability must be/],
    ['a misspelt option', { paralel: 2 }, 'option-unknown', /paralel is not known/],
    ['more crashes than are kept', { recovery: { attempts: 32 } }, 'recovery-invalid', /recovery.attempts must be/],
    ['a bad retry', { retry: { attempts: 0 } }, 'retry-invalid', /retry.attempts must be/],
    [
      'settings of a step',
      { steps: { ...spec.steps, price: { run: () => ({}), durability: 'x', retry: { jitter: 2 }, gate: 1 } } },
      'durability-invalid',
      /steps.price.durability/,
    ],
    [
      'two effects of one operation',
      { effects: [issueCredit, { ...issueCredit }] },
      'effect-duplicate',
      /two effects have the operation payments.credit/,
    ],
  ])('refuses %s', (_, change, code, message) => {
    const found = problems(change);
    expect(found.map((problem) => problem.code)).toContain(code);
    expect(found.map((problem) => problem.message).join('\n')).toMatch(message);
  });

  it('lists everything wrong at once', () => {
    const found = problems({ version: 0, parallel: 0, steps: { price: { run: () => ({}), retry: { jitter: 2 } } } });
    expect(found.map(({ code }) => code)).toEqual([
      'version-invalid',
      'parallel-invalid',
      'step-missing',
      'retry-invalid',
    ]);
  });

  it('warns of an irreversible effect without a probe, and names the consequence', () => {
    const [warning] = define({ effects: [issueCredit] }).warnings;
    expect(warning).toMatchObject({ code: 'effect-without-probe', subject: 'payments.credit' });
    expect(warning?.message).toContain('waits for a person');
    expect(define({ effects: [{ ...issueCredit, kind: 'idempotent' }] }).warnings).toEqual([]);
  });

  it('names the line of such an effect, also of one that no definition lists', () => {
    const request = z.object({});
    const wire = defineEffect({
      ...{ operation: 'bank.wire', kind: 'irreversible', request, response: request },
      call: () => ({}),
    });
    const line = /^Effect bank\.wire \(\/.*\/workflow\.test\.ts:\d+\) is irreversible and has no probe: /;
    expect(define({ effects: [wire] }).warnings[0]?.message).toMatch(line);
    expect(unlistedWarnings([define({})])).toContainEqual(expect.stringMatching(line));
    expect(unlistedWarnings([define({ effects: [wire] })]).filter((text) => line.test(text))).toEqual([]);
  });
});

describe('values that cross', () => {
  it.each<[string, (w: Workflow) => unknown, string, string]>([
    ['the input', (w) => w.parseInput({}), 'input-invalid', 'refund v2, input: orderId: is missing'],
    ['belief', (w) => w.parseBelief({ cents: 'x' }), 'belief-invalid', 'refund v2, belief: cents: expected number'],
    ['the output', (w) => w.parseOutput({}), 'output-invalid', 'refund v2, output: creditId: is missing'],
    [
      "a task's input",
      (w) => w.steps.get('credit')!.parseInput({ cents: null }),
      'task-input-invalid',
      'refund v2, input of step credit: cents: expected number, got null',
    ],
    [
      "a step's output",
      (w) => w.steps.get('credit')!.parseOutput([5]),
      'step-output-invalid',
      'refund v2, output of step credit: [0]: expected string, got a number',
    ],
  ])('are validated: %s', (_, cross, code, message) => {
    const workflow = define({ outputs: { credit: z.array(z.string()) } });
    expect(() => cross(workflow)).toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
  });

  it('gives defaults, and any JSON or nothing as the output of a step without a schema', () => {
    expect(define({}).parseBelief({})).toEqual({ notes: [] });
    expect(step({}).parseOutput(undefined)).toBeNull();
    expect(step({}).parseOutput({ any: [1] })).toEqual({ any: [1] });
    expect(() => step({}).parseOutput(new Date(0))).toThrow(expect.objectContaining({ code: 'not-serialisable' }));
  });
});

describe('what becomes of a failed workflow', () => {
  const undone = defineEffect({
    operation: 'cards.charge',
    kind: 'irreversible',
    request: z.object({ cents: z.number() }),
    response: z.object({ creditId: z.string() }),
    call: () => ({ creditId: 'c' }),
    probe: () => ({ status: 'unknown' }),
    compensate: () => {},
  });
  const warned = (change: object) => define(change).warnings.map(({ code, subject }) => `${code} ${subject}`);

  it('waits for a person by default, and has a budget of steps', () => {
    expect(define({})).toMatchObject({ onFailure: 'park', stepBudget: 100_000 });
    expect(define({ onFailure: 'compensate', effects: [undone], stepBudget: 9 })).toMatchObject({
      onFailure: 'compensate',
      stepBudget: 9,
    });
  });

  it('warns of what can not be compensated, where compensation is promised', () => {
    expect(warned({ effects: [issueCredit, undone] })).toEqual(['effect-without-probe payments.credit']);
    const onFailure = 'compensate';
    expect(warned({ onFailure, effects: [undone] })).toEqual([]);
    expect(warned({ onFailure, effects: [issueCredit, undone] })).toEqual([
      'effect-without-probe payments.credit',
      'effect-without-compensate payments.credit',
    ]);
    expect(warned({ onFailure, effects: [] })).toEqual(['nothing-to-compensate refund']);
    const price = { run: () => ({}), compensate: () => {} };
    expect(warned({ onFailure, effects: [], steps: { ...spec.steps, price } })).toEqual([]);
  });

  it('calls no effect that would have to be compensated and that nobody would find', async () => {
    const charge = async (ctx: { effect(e: unknown, r: unknown): Promise<Json> }) => ({
      output: await ctx.effect(undone, { cents: 5 }),
    });
    await expect(running(charge)).rejects.toMatchObject({
      code: 'effect-unlisted',
      message: expect.stringContaining('add effects: [cards.charge'),
    });
    expect(await running(charge, { effects: [undone] })).toEqual({ output: { creditId: 'c' } });
  });

  it('undoes a step with its input and output, which it can not change', async () => {
    const seen: unknown[] = [];
    const compensate = async (done: { input: { orderId: string } }, { key }: { key: string }) => {
      seen.push(done, key);
      done.input.orderId = 'changed';
    };
    const price = step({ steps: { ...spec.steps, price: { run: () => ({}), compensate } } });
    const done = { input: { orderId: 'o1' }, output: null };
    await expect(price.compensate!(done, { key: 'k' } as never)).rejects.toThrow(TypeError);
    expect(seen).toEqual([done, 'k']);
    expect(step({}).compensate).toBeUndefined();
  });
});

describe('begin', () => {
  const begin = (result: unknown) => define({ begin: () => result }).begin({ orderId: 'o1' }, { day: '2026-03-29' });
  const price = task('price', { orderId: 'o1' });

  it('gives the first belief and the first tasks', () => {
    expect(define({}).begin({ orderId: 'o1' }, { day: '2026-03-29' })).toEqual({
      belief: { notes: [] },
      next: [price],
    });
  });

  it('names itself when its belief is wrong', () => {
    expect(() => begin({ belief: { cents: 'x' }, next: [price] })).toThrow('belief returned by begin: cents: expected');
  });

  it.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /it returned nothing/],
    ['a promise', Promise.resolve(), /it is async/],
    ['no task', { belief: {}, next: [] }, /adds no task/],
    ['no list', { belief: {}, next: price }, /next is an object/],
    ['what is no task', { belief: {}, next: ['price'] }, /next\[0\] is a string, not a task/],
    ['a task that it may not add', { belief: {}, next: [price, task('credit', {})] }, /adds a task for credit/],
  ])('is refused when it returns %s', (_, result, message) => {
    expect(() => begin(result)).toThrow(expect.objectContaining({ code: 'begin-invalid' }));
    expect(() => begin(result)).toThrow(message);
  });
});

describe('a step', () => {
  it('sees what the runtime gives it', async () => {
    let seen: object = {};
    await running(async (ctx: never, input: never) => {
      seen = { ...(ctx as object), given: input };
    });
    expect(seen).toMatchObject({ workflow: 'refund-1', task: '0.0', step: 'price', attempt: 1 });
    expect(seen).toMatchObject({ input: { orderId: 'o1' }, belief: { notes: [] }, given: { orderId: 'o1' } });
  });

  it('keeps the tasks it returns as they are, since siblings refer to each other by identity', async () => {
    const first = task('credit', { cents: 1 });
    const second = task('credit', { cents: 2 }, { after: [first] });
    const result = await running(() => ({ next: [first, second] }));
    expect(result.next?.[0]).toBe(first);
    expect(result.next?.[1]?.after?.[0]).toBe(first);
  });

  it('may return nothing', async () => expect(await running(async () => {})).toEqual({}));

  it('records undefined as null', async () => {
    let recorded: unknown = 'none';
    await running(async (ctx: { run(name: string, body: () => unknown): Promise<unknown> }) => {
      recorded = await ctx.run('find', () => undefined);
    });
    expect(recorded).toBeNull();
  });

  it.each<[string, unknown, RegExp]>([
    ['a string', 'x', /it returned a string/],
    ['a list', [], /it returned an array/],
    ['a misspelt member', { nxt: [] }, /it returned nxt, which is not a member of a step's result/],
    ['done without a value', { done: undefined }, /done is undefined/],
    ['both done and next', { done: {}, next: [task('credit', {})] }, /both done and next/],
    ['null for tasks', { next: null, done: 1 }, /next is null/],
    ['what is no task', { next: [{ step: 'credit' }] }, /next\[0\] is an object, not a task/],
    ['belief that is no function', { belief: { cents: 1 } }, /belief is an object/],
    ['no sequence', { supersedes: 0 }, /supersedes is 0/],
    ['half a token', { tokens: 0.5 }, /tokens is 0.5/],
    ['a negative cost', { costMicros: -1 }, /costMicros is -1/],
    ['an action that is no text', { lastAction: 5 }, /lastAction is a number/],
  ])('is refused when it returns %s', async (_, result, message) => {
    const run = running(() => result);
    await expect(run).rejects.toMatchObject({ code: 'step-result-invalid' });
    await expect(run).rejects.toThrow(message);
    await expect(run).rejects.toThrow('refund v2, step price: ');
  });

  it('must return an output where outputs has a schema for it', async () => {
    const change = { outputs: { price: z.number() } };
    await expect(running(() => ({}), change)).rejects.toThrow('it returned no output');
    await expect(running(() => {}, change)).rejects.toThrow('it returned nothing');
    expect(await running(() => ({ output: 5 }), change)).toEqual({ output: 5 });
  });

  it('calls only the effects of the list, where there is one', async () => {
    const other = { ...issueCredit, operation: 'mail.send', call: async () => ({ creditId: 'm' }) };
    const calls = (effect: unknown) => async (ctx: { effect(e: unknown, r: unknown): Promise<Json> }) => ({
      output: await ctx.effect(effect, { cents: 5 }),
    });
    const listed = { effects: [issueCredit] };
    expect(await running(calls(issueCredit), listed)).toEqual({ output: { creditId: 'c5' } });
    await expect(running(calls(other), listed)).rejects.toMatchObject({ code: 'effect-unlisted' });
    expect(await running(calls(other))).toEqual({ output: { creditId: 'm' } });
  });

  it('reads outputs of steps that there are', async () => {
    const reads = (name: string) => async (ctx: { outputs(step: string): Promise<unknown> }) => ({
      output: await ctx.outputs(name),
    });
    expect(await running(reads('credit'))).toEqual({ output: ['credit'] });
    await expect(running(reads('credt'))).rejects.toMatchObject({ code: 'step-unknown' });
  });
});

describe('belief', () => {
  const update = async (belief: unknown, before: Json = { notes: ['a'] }) =>
    (await running(() => ({ belief }))).belief!(before);

  it('is updated by a function, and validated where it is returned', async () => {
    expect(await update((b: { notes: string[] }) => ({ notes: [...b.notes, 'b'] }))).toEqual({ notes: ['a', 'b'] });
    await expect(update(() => ({ cents: 'x' }))).rejects.toMatchObject({
      code: 'belief-invalid',
      message: expect.stringContaining(
        'refund v2, belief returned by step price: cents: expected number, got a string',
      ),
    });
    await expect(update(async () => ({}))).rejects.toThrow('its belief function is async');
  });

  it('is validated once: what came of it passes again untouched', async () => {
    const workflow = define({ steps: { ...spec.steps, price: () => ({ belief: () => ({ cents: 1 }) }) } });
    const result = await workflow.steps.get('price')!.run(context(), { orderId: 'o1' });
    const after = result.belief!({ notes: [] });
    expect(workflow.parseBelief(after)).toBe(after);
    // Another definition has never seen it, and looks for itself.
    expect(define({}).parseBelief(after)).not.toBe(after);
  });

  it('can not be changed in place, which would be lost: the error says what to do', async () => {
    const refusal = { code: 'changed-in-place', message: expect.stringContaining('return belief: (b) =>') };
    await expect(update((b: { notes: string[] }) => b.notes.push('b') && b)).rejects.toMatchObject(refusal);
    await expect(update((b: { cents: number }) => Object.assign(b, { cents: 1 }))).rejects.toMatchObject(refusal);
    const mutating = async (ctx: { belief: { notes: string[] } }) => {
      ctx.belief.notes[0] = 'b';
    };
    await expect(running(mutating, {}, context({ notes: ['a'] }))).rejects.toMatchObject(refusal);
  });

  it('leaves other errors as they are', async () => {
    const own = new TypeError('of my own');
    const failing = () => {
      throw own;
    };
    await expect(update(failing)).rejects.toBe(own);
    await expect(running(failing)).rejects.toBe(own);
  });
});

describe('a gate', () => {
  const gated = (passed: boolean) => ({
    steps: {
      ...spec.steps,
      price: {
        run: async () => ({ output: null, next: [] }),
        gate: { name: 'looked at', check: () => ({ passed, evidence: 'ann looked' }) },
      },
    },
  });

  it('lets the step count as done when it passes, and keeps what it found', async () => {
    const logged: unknown[] = [];
    const given = { ...context(), log: (action: string, detail?: unknown) => void logged.push([action, detail]) };
    await step(gated(true)).run(given, { orderId: 'o1' });
    expect(logged).toEqual([['gate', { gate: 'looked at', passed: true, evidence: 'ann looked' }]]);
  });

  it('fails the attempt when it does not', async () => {
    await expect(step(gated(false)).run(context(), { orderId: 'o1' })).rejects.toMatchObject({ code: 'gate-failed' });
  });

  it('is refused when it is none', () => {
    const steps = { ...spec.steps, price: { run: async () => ({}), gate: { name: 'x' } } };
    expect(problems({ steps })).toContainEqual(
      expect.objectContaining({ message: 'steps.price.gate must be { name, check }.' }),
    );
  });
});
