/**
 * Owns the tests of secrets in what workflows store, by policy: in each place they are reported, masked or refused before they reach the
 * log. `report` is the control of the other two: under it the log has them. The tests read the log's own records.
 */

import { type Partition, tenantId, uuidv7, workflowId } from '@tidemark/core';
import { noTelemetry } from '@tidemark/ports';
import { type OnSecret, type StoredSecret, systemPrng } from '@tidemark/runtime';
import {
  approval,
  defineEffect,
  defineWorkflow,
  FatalError,
  NotDoneError,
  pending,
  signal,
  task,
  userMessage,
} from '@tidemark/sdk';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestModel, testModel } from './test-model.ts';
import { type TestWorld, testWorld } from './test-world.ts';

/** A token of its own for each place. */
const tokenOf = (place: Place): string =>
  `gh${'p_'}${'q7Zr2mX9wK4v'.repeat(3).slice(2)}${String(PLACES.indexOf(place)).padStart(2, '0')}`;
const saidIn = (place: Place): string => `push with ${tokenOf(place)}, then wait`;
const MASKED = 'push with [masked github-token], then wait';
const LOG_MAX_BYTES = 8_000_000;

const worlds: TestWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});

const counts = new Map<string, number>();
const stored: StoredSecret[] = [];

async function open(workflows: Parameters<typeof testWorld>[0]['workflows'], onSecret: OnSecret): Promise<TestWorld> {
  counts.clear();
  stored.length = 0;
  const world = await testWorld({
    workflows,
    telemetry: {
      ...noTelemetry,
      count: (name, value, attributes) => {
        if (name !== 'secrets_found_total') return;
        const key = `${attributes!.place} ${attributes!.kind}`;
        counts.set(key, (counts.get(key) ?? 0) + value);
      },
    },
    secretPolicy: { onSecret, onStored: (secret) => stored.push(secret) },
  });
  worlds.push(world);
  return world;
}

/** The raw content of the log, or of the records that name one workflow. */
async function logOf({ ports: { log } }: TestWorld, workflow = ''): Promise<string> {
  const texts: string[] = [];
  for (let partition = 0; partition < (await log.partitionCount()); partition += 1) {
    const from = 0 as never;
    const [read] = await log.read([{ partition: partition as Partition, from }], { maxBytes: LOG_MAX_BYTES });
    texts.push(...(read?.records ?? []).map(({ value }) => Buffer.from(value).toString('utf8')));
  }
  return texts.filter((text) => text.includes(workflow)).join('\n');
}

const PLACES = [
  ...(['input', 'belief', 'task', 'output', 'result', 'request', 'response', 'closure', 'prompt'] as const),
  ...(['answer', 'fragment', 'memory', 'note', 'approval', 'error'] as const),
];
type Place = (typeof PLACES)[number];
/** A workflow's own output is an output as well; committed events say no more than what was asked and answered. */
const metricOf = (place: Place, onSecret: OnSecret): string => {
  if (place === 'result') return 'output';
  const isAnswer = place === 'closure' || place === 'answer';
  return onSecret === 'report' && isAnswer ? 'response' : place;
};

const saying = z.object({ text: z.string() });

const SAY_IT = 'say it';

const send = defineEffect({
  operation: 'send',
  kind: 'idempotent',
  request: saying,
  response: saying,
  call: ({ text }) => ({ text: text === SAY_IT ? saidIn('response') : 'sent' }),
});

/** Puts the token into one place. */
function leaky(place: Place | undefined, onSecret?: OnSecret) {
  const at = (each: Place): string => (each === place ? saidIn(each) : 'nothing');
  let failures = 0;
  return defineWorkflow({
    name: `leaky-${place}`,
    version: 1,
    ...(onSecret !== undefined && { onSecret }),
    input: saying,
    belief: saying,
    output: saying,
    outputs: { work: saying },
    tasks: { work: z.object({}), end: saying },
    flow: { work: ['end'], end: [] },
    effects: [send],
    approvals: { go: z.object({}) },
    phases: { draft: {} },
    models: { default: testModel(() => at('answer')) },
    retry: { firstDelayMs: 0 },
    begin: () => ({ belief: { text: 'nothing' }, next: [task('work', {})] }),
    steps: {
      async work(ctx) {
        await ctx.effect(send, { text: place === 'response' ? SAY_IT : at('request') });
        await ctx.run('look', () => ({ text: at('closure') }));
        await ctx.model({ prompt: at('prompt') });
        ctx.log('noted', { text: at('note') });
        if (place === 'error' && failures++ === 0) throw new Error(at('error'));
        const asked = { title: 'Go on?', preset: { text: at('approval') } };
        const when = place === 'approval' ? { when: approval('go', asked) } : {};
        return {
          belief: () => ({ text: at('belief') }),
          output: { text: at('output') },
          fragments: [userMessage(at('fragment'))],
          memory: { said: at('memory') },
          next: [task('end', { text: at('task') }, when)],
        };
      },
      end: async (ctx, { text }) => {
        const [left] = await ctx.outputs('work');
        return {
          done: {
            text: place === 'result' ? saidIn(place) : `${ctx.input.text}|${ctx.belief.text}|${text}|${left!.text}`,
          },
        };
      },
    },
  });
}

/** The one approval that is open. */
async function asking(world: TestWorld): Promise<string> {
  return eventually(async () => (await world.client.approvals()).approvals[0]!.task);
}

const reasonOf = async (world: TestWorld, id: string) => (await world.client.run(id).summary())?.reason ?? null;

describe.each(['report', 'mask', 'refuse'] as const)('a secret, by the policy %s', (onSecret) => {
  let world: TestWorld;
  let log: string;
  const ends = new Map<Place, unknown>();
  beforeAll(async () => {
    const definitions = new Map(PLACES.map((place) => [place, leaky(place, onSecret)]));
    world = await open([...definitions.values()], 'report');
    worlds.pop();
    const started = [...definitions].map(async ([place, definition]) => {
      const input = { text: place === 'input' ? saidIn(place) : 'nothing' };
      const run = await world.start(definition, input, { id: place });
      if (onSecret === 'refuse' && place !== 'error')
        return eventually(async () => (await reasonOf(world, place)) === 'step-failed');
      if (place === 'approval') {
        await world.client.approve(place, await asking(world), { approved: true, by: 'ana', value: {} });
      }
      return run.result();
    });
    const settled = await Promise.allSettled(started);
    for (const [at, place] of PLACES.entries()) {
      const one = settled[at]!;
      ends.set(place, one.status === 'fulfilled' ? one.value : one.reason);
    }
    log = await logOf(world);
  });
  afterAll(() => world.close());

  it.each(PLACES)('in %s', async (place) => {
    const where = metricOf(place, onSecret);
    expect(log.includes(tokenOf(place))).toBe(onSecret === 'report');
    const found = () => stored.filter((secret) => secret.definition === `leaky-${place}`);
    // What is reported is searched after the commit.
    await expect.poll(() => found().some((each) => each.where === where)).toBe(onSecret === 'report');
    expect([...counts.keys()]).toContain(`${where} github-token`);
    // Nothing is searched twice, and nothing reported before the log has it.
    if (where !== place && place !== 'result') expect(counts.has(`${place} github-token`)).toBe(false);
    expect(JSON.stringify(found())).not.toContain(tokenOf(place));
    if (onSecret !== 'refuse') {
      const said = onSecret === 'mask' ? MASKED : saidIn(place);
      const isRead = ['input', 'belief', 'task', 'output', 'result'].includes(place);
      expect(ends.get(place)).toEqual({
        text: isRead ? expect.stringContaining(said) : expect.not.stringContaining('ghp'),
      });
    } else if (place === 'input') {
      expect(ends.get(place)).toMatchObject({
        code: 'secret-found',
        message: expect.stringMatching(/^input holds .*\/text \(github-token\)/),
      });
    } else if (place !== 'error') {
      // A thrown error can't be refused.
      const events = await world.ports.store.events(workflowId(place), 100);
      const asked = events.filter(({ type }) => type === 'WorkflowParked').map(({ payload }) => payload);
      expect(asked).toEqual([expect.stringMatching(/secret-found.*github-token|github-token.*secret-found/)]);
    }
  });

  it('that is asked of an effect is asked as it is', () => {
    const asked = world.calls(send).map(({ request }) => (request as { text: string }).text);
    expect(asked.includes(saidIn('request'))).toBe(onSecret !== 'refuse');
  });
});

const TENANT = tenantId('default');
const [TOKEN, SAID] = [tokenOf('response'), saidIn('response')];

describe('an answer that is refused', () => {
  it.each(['response', 'answer'] as const)(
    'is recorded masked, and neither lost nor asked for again (%s)',
    async (place) => {
      const definition = leaky(place, 'refuse');
      const world = await open([definition], 'report');
      const { id } = await world.start(definition, { text: 'nothing' });
      await expect.poll(() => reasonOf(world, id)).toBe('step-failed');
      const before = await logOf(world);
      expect(before).toContain('[masked github-token]');
      await world.client.decide(id, { resolution: 'retry', by: 'ana', why: 'it may go on without it' });
      await world.client.run(id).result();
      expect(world.calls(send)).toHaveLength(1);
      expect(await logOf(world)).not.toContain(tokenOf(place));
    },
  );

  it('stays masked where the worker died before it could fail the step', async () => {
    const definition = leaky('response', 'refuse');
    const world = await open([definition], 'report');
    world.crash({ after: 'EffectResolved', operation: 'send' });
    await (await world.start(definition, { text: 'nothing' })).result();
    expect([world.crashCount, world.calls(send).length]).toEqual([1, 1]);
    expect(await logOf(world)).not.toContain(tokenOf('response'));
  });
});

describe('a masked request', () => {
  it.each([{ after: 'EffectIntended' }, { after: 'call' }, { before: 'EffectResolved' }] as const)(
    'is the same for every attempt, whoever makes it: %j',
    async (point) => {
      const definition = leaky('request', 'mask');
      const world = await open([definition], 'report');
      world.crash({ ...point, operation: 'send' });
      await (await world.start(definition, { text: 'nothing' })).result();
      expect(world.crashCount).toBe(1);
      const calls = world.calls(send);
      expect(new Set(calls.map(({ key }) => key)).size).toBe(1);
      // Each attempt sends the real value.
      expect(calls.every(({ request }) => JSON.stringify(request).includes(tokenOf('request')))).toBe(true);
      expect(await logOf(world)).not.toContain(tokenOf('request'));
    },
  );

  it('is asked about with what was asked', async () => {
    const probed: unknown[] = [];
    const pay = defineEffect({
      operation: 'pay',
      kind: 'irreversible',
      request: saying,
      response: saying,
      call: () => ({ text: SAID }),
      probe: (_key, { request }) => {
        probed.push(request);
        return { status: 'done', response: { text: SAID } };
      },
    });
    const definition = defineWorkflow({
      ...{ name: 'payer', version: 1, onSecret: 'mask', input: z.null(), belief: z.null(), output: saying },
      tasks: { one: z.object({}) },
      flow: { one: [] },
      effects: [pay],
      begin: () => ({ belief: null, next: [task('one', {})] }),
      steps: { one: async (ctx) => ({ done: await ctx.effect(pay, { text: SAID }) }) },
    });
    const world = await open([definition], 'report');
    world.crash({ after: 'call', operation: 'pay' });
    const run = await world.start(definition, null);
    expect(await run.result()).toEqual({ text: MASKED });
    expect(probed).toEqual([{ text: SAID }]);
    expect(world.calls(pay)).toHaveLength(1);
    expect(await logOf(world)).not.toContain(TOKEN);
  });
});

/** Waits for a signal, then for a confirmation, then for a person. */
const waits = (onSecret?: OnSecret) => {
  const accept = defineEffect({
    operation: 'accept',
    kind: 'idempotent',
    request: z.null(),
    response: saying,
    call: () => pending('t1'),
  });
  return defineWorkflow({
    ...{ name: 'waits', version: 1, input: z.null(), belief: z.null(), output: z.json(), effects: [accept] },
    ...(onSecret !== undefined && { onSecret }),
    signals: { word: saying },
    approvals: { form: saying },
    tasks: { heard: z.object({}), decided: z.object({ word: z.string(), found: z.string() }) },
    flow: { heard: ['decided'], decided: [] },
    starts: ['heard'],
    begin: () => ({ belief: null, next: [task('heard', {}, { when: signal('word') })] }),
    steps: {
      heard: async (ctx) => {
        const word = ctx.cause?.kind === 'signal' ? ctx.cause.value.text : '';
        const { text: found } = await ctx.effect(accept, null);
        return { next: [task('decided', { word, found }, { when: approval('form') })] };
      },
      decided: ({ cause }, { word, found }) => ({
        done: [word, found, cause?.kind === 'approval' && cause.approved ? cause.value.text : ''],
      }),
    },
  });
};

describe('what callers say', () => {
  const id = 'w';
  const value = { text: SAID };

  it.each(['report', 'mask'] as const)('is held to the policy as well: %s', async (onSecret) => {
    const definition = waits();
    const world = await open([definition], onSecret);
    const run = await world.start(definition, null, { id });
    await world.client.signal(id, 'word', value, { definitions: [definition] });
    await world.client.confirm(id, 't1', { response: value });
    // Repeating it is a duplicate, masked or not.
    await world.client.confirm(id, 't1', { response: value });
    const asked = await asking(world);
    const answer = { approved: true, by: 'ana', value };
    expect(await world.client.approve(id, asked, answer)).toEqual({ changed: true });
    const isMasked = onSecret === 'mask';
    expect(await run.result()).toEqual(Array(3).fill(isMasked ? MASKED : SAID));
    expect((await logOf(world)).includes(TOKEN)).toBe(!isMasked);
    expect([...counts.keys()]).toEqual(expect.arrayContaining(['signal github-token', 'decision github-token']));
  });

  it('is refused before anything is stored, by the definition where it is known', async () => {
    const strict = waits('refuse');
    const world = await open([strict], 'report');
    await world.start(strict, null, { id });
    const refused = { code: 'secret-found', message: expect.stringContaining('/text (github-token)') };
    await expect(world.client.signal(id, 'word', value, { definitions: [strict] })).rejects.toMatchObject(refused);
    expect(await logOf(world)).not.toContain(TOKEN);
  });

  it('is refused by the deployment: signals, confirmations, answers, decisions', async () => {
    const definition = waits();
    const world = await open([definition], 'refuse');
    await world.start(definition, null, { id });
    const refused = { code: 'secret-found' };
    await expect(world.client.signal(id, 'word', value)).rejects.toMatchObject(refused);
    await world.client.signal(id, 'word', { text: 'ok' });
    await expect(world.client.confirm(id, 't1', { response: value })).rejects.toMatchObject(refused);
    await world.client.confirm(id, 't1', { response: { text: 'ok' } });
    const asked = await asking(world);
    await expect(world.client.approve(id, asked, { approved: true, by: 'ana', value })).rejects.toMatchObject(refused);
    expect(await logOf(world)).not.toContain(TOKEN);
  });
});

describe("a session's summary", () => {
  const talk = (onSecret: OnSecret, models: { default: TestModel; writer: TestModel }) =>
    defineWorkflow({
      ...{ name: 'talk', version: 1, onSecret, input: saying, belief: z.null(), output: saying, models },
      tasks: { one: z.object({}) },
      flow: { one: [] },
      summaryModel: 'writer',
      bundles: { chat: { budgetTokens: 4_000, session: true } },
      begin: () => ({ belief: null, next: [task('one', {})] }),
      steps: {
        one: async (ctx) => {
          await ctx.model({ bundle: 'chat', prompt: 'Go on.' });
          if (ctx.input.text === 'again') return { continueAsNew: saying.parse({ text: SAID }) };
          return { done: { text: SAID } };
        },
      },
    });
  const session = { session: 's1', user: 'ana' };

  it.each(['report', 'mask', 'refuse'] as const)('holds no secret that its model says: %s', async (onSecret) => {
    const written = JSON.stringify({ task_description: SAID, decisions_made: [SAID], work_completed: ['It is done.'] });
    const writer = testModel(({ messages }) => (JSON.stringify(messages).includes('By rule') ? written : SAID));
    const definition = defineWorkflow({
      ...{ name: 'chat', version: 1, onSecret, input: z.null(), belief: z.null(), output: z.null() },
      tasks: { one: z.object({}) },
      flow: { one: [] },
      models: { writer },
      summaryModel: 'writer',
      bundles: { chat: { budgetTokens: 4_000, summary: { by: 'model', thresholdTokens: 100, keepTokens: 10 } } },
      begin: () => ({
        ...{ belief: null, next: [task('one', {})] },
        fragments: Array.from({ length: 9 }, () => userMessage('The ebb. '.repeat(20))),
      }),
      steps: { one: () => ({ done: null, fragments: [userMessage('And the flood.')] }) },
    });
    const world = await open([definition], 'report');
    const { id } = await world.start(definition, null, session);
    await world.client.run(id).result();
    expect(writer.prompts).toHaveLength(2);
    const log = await logOf(world);
    const kept = await world.client.memory.memories(TENANT, { subject: 'user:ana', kind: 'summary', limit: 1 });
    const isReported = onSecret === 'report';
    expect([log.includes(TOKEN), kept[0]!.value.includes(MASKED)]).toEqual([isReported, !isReported]);
    expect(kept[0]!.value).toContain('It is done.');
  });

  it.each(['report', 'mask'] as const)('is made of what is stored: %s', async (onSecret) => {
    const writer = testModel(() => 'Not JSON.');
    const models = { default: testModel(() => 'Ok.'), writer };
    const definition = talk(onSecret, models);
    const world = await open([definition], onSecret);
    for (const text of ['again', 'nothing']) await (await world.start(definition, { text }, session)).result();
    await (await world.start(definition, { text: 'nothing' }, { ...session, session: 's2' })).result();
    const isReported = onSecret === 'report';
    expect((await logOf(world)).includes(TOKEN)).toBe(isReported);
    const sent = JSON.stringify([...writer.prompts, ...models.default.prompts]);
    expect([sent.includes(TOKEN), sent.includes(MASKED)]).toEqual([isReported, !isReported]);
  });
});

const AT = ['step', 'belief', 'schema', 'model', 'effect', 'undo of the effect', 'undo of the step'] as const;
interface Failing {
  readonly at: (typeof AT)[number];
  readonly thrown: (said: string, token: string) => unknown;
}
const errorAt = (at: Failing['at']) => {
  if (at === 'effect') return NotDoneError;
  return at.startsWith('undo') ? FatalError : Error;
};
const THROWN: Readonly<Record<string, Failing['thrown']>> = {
  'as a text': (said) => said,
  'as an object': (said) => ({ toString: () => said }),
  'in its code': (_, code) => Object.assign(new Error('no'), { code }),
  'in its name': (_, name) => Object.assign(new Error('no'), { name }),
  'in its stack alone': (stack) => Object.assign(new Error('no'), { stack }),
  frozen: (said) => Object.freeze(new TypeError(said)),
};
const FAILING: ReadonlyMap<string, Failing> = new Map([
  ...AT.map((at): [string, Failing] => [`thrown by the ${at}`, { at, thrown: (said) => new (errorAt(at))(said) }]),
  ...Object.entries(THROWN).map(([how, thrown]): [string, Failing] => [`said ${how}`, { at: 'step', thrown }]),
]);

describe.each(['report', 'mask'] as const)('a failure that says a secret, by the policy %s', (onSecret) => {
  const fails = (name: string, { at, thrown }: Failing, token: string) => {
    const said = SAID.replace(TOKEN, token);
    const failing = <T>(each: string, value: T): T => {
      if (each === at) throw thrown(said, token);
      return value;
    };
    const pay = defineEffect({
      ...{ operation: 'pay', kind: 'idempotent', request: z.null(), response: z.null() },
      retry: { attempts: 1 },
      call: () => failing('effect', null),
      compensate: () => failing('undo of the effect', undefined),
    });
    const isUndone = at.startsWith('undo');
    return defineWorkflow({
      ...{ name, version: 1, onSecret, input: z.null(), belief: z.null(), effects: [pay] },
      output: z.null().refine(() => at !== 'schema', { error: said }),
      ...{ tasks: { one: z.null(), two: z.null() }, flow: { one: ['two'], two: [] } },
      models: { default: testModel(() => failing('model', 'ok'), { attempts: 1 }) },
      ...(isUndone ? { onFailure: 'compensate' as const } : {}),
      retry: { attempts: 1 },
      begin: () => ({ belief: null, next: [task('one', null)] }),
      steps: {
        one: {
          run: async (ctx) => {
            await ctx.effect(pay, null);
            await ctx.model({ prompt: 'Go on.' });
            failing('step', null);
            return { next: [task('two', null)], belief: () => failing('belief', null) };
          },
          compensate: () => failing('undo of the step', undefined),
        },
        two: () => {
          if (isUndone) throw new Error('over');
          return { done: null };
        },
      },
    });
  };

  const found = new Map<string, { readonly token: string; readonly log: string }>();
  beforeAll(async () => {
    const runs = Array.from(FAILING, ([what, failing], at) => {
      const token = `${TOKEN.slice(0, -2)}${PLACES.length + at}`;
      const id = `case${PLACES.length + at}`;
      return {
        what,
        token,
        id,
        definition: fails(id, failing, token),
        asks: failing.at.startsWith('undo') ? `${id}~undo` : id,
      };
    });
    const world = await open(
      runs.map(({ definition }) => definition),
      'report',
    );
    for (const { id, definition } of runs) await world.start(definition, null, { id });
    const stopped = runs.map(({ asks }) =>
      eventually(async () => /^(step-failed|compensation-stuck)$/.test(String(await reasonOf(world, asks)))),
    );
    await world.fastForward(Promise.all(stopped));
    for (const { what, token, id } of runs) found.set(what, { token, log: await logOf(world, id) });
  });

  it.each([...FAILING.keys()])('is recorded without it where masked: %s', (what) => {
    const { token, log } = found.get(what)!;
    expect(log.includes(token)).toBe(onSecret === 'report');
    if (what.startsWith('thrown by')) expect(log.includes('[masked github-token]')).toBe(onSecret === 'mask');
  });
});

it('a fork with a belief of its own is held to it', async () => {
  const definition = leaky(undefined, 'mask');
  const world = await open([definition], 'report');
  await (await world.start(definition, { text: 'nothing' }, { id: 'base' })).result();
  const fork = { at: 0, effects: 'replay', by: 'ana', belief: { text: SAID }, definitions: [definition] } as const;
  await world.client.fork('base', { ...fork, id: 'fork' });
  await world.client.run('fork').result();
  const log = await logOf(world);
  expect([log.includes(MASKED), log.includes(TOKEN)]).toEqual([true, false]);
});

it('what only looks random is counted, and left as it is under every policy', async () => {
  const cursor = Buffer.from(`after:${uuidv7(Date.now(), systemPrng.bytes(10))}:page`).toString('base64');
  for (const onSecret of ['mask', 'refuse'] as const) {
    const definition = leaky(undefined, onSecret);
    const world = await open([definition], 'report');
    const { text } = await (await world.start(definition, { text: cursor })).result();
    expect(text.startsWith(`${cursor}|`)).toBe(true);
    expect([...counts.keys()]).toEqual(expect.arrayContaining(['input high-entropy']));
  }
});
