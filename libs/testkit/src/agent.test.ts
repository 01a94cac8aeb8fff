import {
  type Agent,
  agent,
  defineEffect,
  done,
  FatalError,
  hasToolCall,
  isStepCount,
  NotDoneError,
  notDone,
  tool,
} from '@tidemark/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestAnswer, type TestModel, testModel } from './test-model.ts';
import { type TestWorld, testWorld } from './test-world.ts';

const worlds: TestWorld[] = [];
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.close();
});
async function open(definition: Agent): Promise<TestWorld> {
  const world = await testWorld({ workflows: [definition] });
  worlds.push(world);
  return world;
}

/** Calls by name, all of one answer; the ids are c1, c2 … */
const calls = (...asked: readonly (readonly [string, object])[]): TestAnswer => ({
  toolCalls: asked.map(([name, input], at) => ({ id: `c${at + 1}`, name, input: input as never })),
});

/** The n-th answer, by how many there are in the prompt: however often it is asked, it says the same. */
const says = (...answers: readonly TestAnswer[]): TestModel =>
  testModel(({ messages }) => {
    const said = messages.filter(({ role }) => role === 'assistant').length;
    return answers[Math.min(said, answers.length - 1)]!;
  });

/** What the tools said, as the newest prompt has it. */
const results = ({ prompts }: TestModel): readonly string[] =>
  prompts.at(-1)!.messages.flatMap(({ role, content }) => (role === 'tool' ? content.map(({ output }) => output) : []));

const paid: { order: string; cents: number; key: string }[] = [];
const pay = defineEffect({
  operation: 'shop.refund',
  kind: 'irreversible',
  request: z.object({ order: z.string(), cents: z.int().max(10_000) }),
  response: z.object({ refund: z.string() }),
  call: (request, { key }) => {
    paid.push({ ...request, key });
    return { refund: `r-${request.cents}` };
  },
  probe: (key) => {
    const found = paid.find((each) => each.key === key);
    return found === undefined ? notDone() : done({ refund: `r-${found.cents}` });
  },
  probeFences: true,
});
const refund = tool({ description: 'Refunds an order.', input: pay.request, effect: pay });
let counted = 0;
const stock = tool({
  description: 'Counts an item.',
  input: z.object({ item: z.string() }),
  run: ({ item }) => {
    counted++;
    return { item, left: 2 };
  },
});
const tools = { stock, refund };
const shop = (model: TestModel, more: object = {}): Agent =>
  agent({ name: 'shop', model, instructions: 'You answer for a lamp shop.', tools, ...more });

const asked = async (world: TestWorld, id: string) =>
  eventually(async () => {
    const { approvals } = await world.client.approvals({});
    return approvals.find(({ workflow }) => workflow === id) ?? Promise.reject(new Error('not yet asked'));
  });

afterEach(() => {
  paid.length = 0;
  counted = 0;
});

describe('an agent', () => {
  it('answers, with the results of its tools beside their calls, and is an ordinary workflow', async () => {
    const model = says(calls(['stock', { item: 'lamp' }], ['stock', { item: 'bulb' }]), 'Two of each.');
    const definition = shop(model);
    const world = await open(definition);
    const run = await world.start(definition, { prompt: 'What is left?' });
    expect(await run.result()).toEqual({ text: 'Two of each.', toolCalls: [], finishReason: 'stop' });
    expect(model.prompts[0]!.tools.map(({ name }) => name)).toEqual(['stock', 'refund']);
    const { messages } = model.prompts[1]!;
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(JSON.stringify(messages)).toContain('You answer for a lamp shop.');
    expect(results(model)).toEqual(['{"item":"lamp","left":2}', '{"item":"bulb","left":2}']);
    const [call] = await world.bundles(run.id, 4);
    expect(call!.rebuilt).toBe(call!.sent);
  });

  it.each(['after', 'before'] as const)(
    'repeats no answer and no call when it is killed %s each event',
    async (when) => {
      const model = says(
        calls(['stock', { item: 'lamp' }], ['refund', { order: 'o1', cents: 500 }]),
        calls(['stock', { item: 'bulb' }]),
        'Done.',
      );
      const definition = shop(model, { toolApproval: { refund: 'user-approval' }, recovery: { attempts: 31 } });
      const world = await open(definition);
      for (const operation of ['model', 'tool.stock', 'shop.refund'])
        for (const type of ['EffectIntended', 'EffectResolved'] as const) world.crash({ [when]: type, operation });
      for (const step of ['think', 'act']) world.crash({ [when]: 'CheckpointCommitted', step });
      world.crash({ [when]: 'WorkflowCompleted' });
      const run = await world.start(definition, { prompt: 'Refund o1.' });
      const { task } = await asked(world, run.id);
      await world.client.approve(run.id, task, { approved: true, by: 'ana' });
      expect((await world.fastForward(run.result())).text).toBe('Done.');
      await eventually(() => world.crashCount === 9);
      expect(paid).toHaveLength(1);
      expect(results(model)).toEqual(['{"item":"lamp","left":2}', '{"refund":"r-500"}', '{"item":"bulb","left":2}']);
      // Only a call whose answer is not in the log is made again; the refund's probe found it.
      expect([model.prompts.length, counted]).toEqual(when === 'after' ? [3, 2] : [4, 3]);
    },
  );

  it('tells the model what it can not call, and what failed for good', async () => {
    const tries: string[] = [];
    const failing = (name: string, thrown: () => Error) =>
      tool({
        description: 'Fails.',
        input: z.object({}),
        run: () => {
          tries.push(name);
          throw thrown();
        },
      });
    const refused = defineEffect({
      operation: 'shop.close',
      kind: 'irreversible',
      request: z.object({}),
      response: z.object({}),
      retry: { nonRetryable: ['effect-not-done'] },
      call: () => {
        throw new NotDoneError('it is closed');
      },
    });
    const model = says(
      calls(
        ['lamp', {}],
        ['', {}],
        [`\0\ud83d${'x'.repeat(600)}`, {}],
        ['stock', { item: 7 }],
        ['broken', {}],
        ['gone', {}],
        ['close', {}],
      ),
      'I could not.',
    );
    const definition = shop(model, {
      toolApproval: { stock: { type: 'user-approval', within: '1m' } },
      tools: {
        ...tools,
        broken: failing('broken', () => new Error('no such shelf')),
        gone: failing('gone', () => Object.assign(new Error('Not found'), { status: 404 })),
        close: tool({ description: 'Closes.', input: z.object({}), effect: refused }),
      },
    });
    const world = await open(definition);
    const run = await world.start(definition, { prompt: 'Do it.' });
    expect((await world.fastForward(run.result())).text).toBe('I could not.');
    const [unknown, nameless, long, unfit, ...failed] = results(model);
    expect(nameless).toMatch(/^There is no tool named ""/);
    expect(long).toMatch(/^There is no tool named "\\u0000\\ud83dx{510}"\./);
    expect(unknown).toMatch(/^There is no tool named "lamp"\. Tools: stock, refund/);
    expect(unfit).toMatch(/^The input of stock doesn't fit: item/);
    expect(failed).toEqual(['broken failed: no such shelf', 'gone failed: Not found', 'close failed: it is closed']);
    expect(tries.filter((name) => name === 'broken')).toHaveLength(5);
    expect(tries.filter((name) => name === 'gone')).toHaveLength(1);
  });

  it('fails as a whole where a tool says so, and asks a person about a call that may have been made', async () => {
    const final = tool({
      description: 'Ends it.',
      input: z.object({}),
      run: () => {
        throw new FatalError('wrong shop');
      },
    });
    const ends = shop(says(calls(['final', {}])), { tools: { final } });
    const first = await open(ends);
    await expect((await first.start(ends, { prompt: 'x' })).result()).rejects.toThrow('wrong shop');
    let callCount = 0;
    const refused = defineEffect({
      operation: 'shop.refused',
      kind: 'idempotent',
      request: z.object({}),
      response: z.object({}),
      call: () => {
        callCount++;
        throw Object.assign(new Error('Unprocessable'), { status: 422 });
      },
    });
    const parks = shop(says(calls(['refused', {}])), {
      tools: { refused: tool({ description: 'Is refused.', input: z.object({}), effect: refused }) },
    });
    const second = await open(parks);
    const run = await second.start(parks, { prompt: 'x' });
    await expect(run.result()).rejects.toMatchObject({ code: 'workflow-parked' });
    expect(callCount).toBe(1);
  });

  it.each([
    ['none', ''],
    ['one', 'c1'],
  ])(
    'makes no more calls than its limit, and tells them apart by their place where their ids are %s',
    async (_, id) => {
      const many = Array.from({ length: 570 }, (_, at) => ({ id, name: 'stock', input: { item: `i${at}` } }));
      const model = says({ toolCalls: many }, 'Many.');
      const definition = shop(model);
      const world = await open(definition);
      await (await world.start(definition, { prompt: 'All?' })).result();
      const said = results(model);
      expect(said).toHaveLength(65);
      for (const [at, text] of said.slice(0, 64).entries()) expect(text).toContain(`"i${at}"`);
      expect(said[64]).toBe('Not called, nor the 505 calls after it: at most 64 are made of one answer.');
      expect(counted).toBe(64);
    },
  );
});

describe('a call that a person must approve', () => {
  const twoCalls = calls(['refund', { order: 'o1', cents: 500 }], ['stock', { item: 'lamp' }]);
  const approval = {
    type: 'user-approval',
    reason: 'Refund o1?',
    assignee: 'group:support',
    within: '2d',
  } as const;

  async function waiting(rule: unknown = approval) {
    const model = says(twoCalls, 'Thanks.');
    const definition = shop(model, { toolApproval: { refund: rule } });
    const world = await open(definition);
    const run = await world.start(definition, { prompt: 'Refund o1.' });
    const question = await asked(world, run.id);
    const answer = (given: object) => world.client.approve(run.id, question.task, { by: 'ana', ...given } as never);
    return { model, world, run, question, answer };
  }

  it('asks in its words, keeps no other call waiting, and is made as the model wanted', async () => {
    const { model, world, run, question, answer } = await waiting();
    const input = { order: 'o1', cents: 500 };
    expect(question).toMatchObject({ title: 'Refund o1?', assignee: 'group:support', name: 'refund', detail: input });
    expect(question.form).toMatchObject({ type: 'object', default: input, required: ['order', 'cents'] });
    await expect.poll(async () => counted === 1 && (await world.tasksOf(run.id)).length <= 2).toBe(true);
    expect([counted, model.prompts.length, paid.length]).toEqual([1, 1, 0]);
    // Refused where the run went on without it.
    await expect(answer({ approved: true })).resolves.toBeDefined();
    expect((await run.result()).text).toBe('Thanks.');
    expect(paid).toMatchObject([input]);
    expect(results(model)).toEqual(['{"refund":"r-500"}', '{"item":"lamp","left":2}']);
  });

  it('is made as the person changes it, within its schema, and the model is told', async () => {
    const { model, run, answer } = await waiting('user-approval');
    await expect(answer({ approved: true, value: { order: 'o1', cents: 10_001 } })).rejects.toMatchObject({
      code: 'approval-unfit',
    });
    await answer({ approved: true, value: { order: 'o1', cents: 200 }, why: 'Part of it came back.' });
    await run.result();
    expect(paid).toMatchObject([{ order: 'o1', cents: 200 }]);
    expect(results(model)[0]).toBe(
      'A person changed the input to {"order":"o1","cents":200}. They said: "Part of it came back." The result: {"refund":"r-200"}',
    );
  });

  it('is not made when the person refuses, and the model hears the words', async () => {
    const { model, run, answer } = await waiting();
    await answer({ approved: false, why: 'It was never bought.' });
    expect((await run.result()).text).toBe('Thanks.');
    expect(paid).toEqual([]);
    expect(results(model)[0]).toBe('Not called: a person refused refund. They said: "It was never bought."');
  });

  it('is not made when nobody answers in time', async () => {
    const { model, world, run } = await waiting();
    world.advance('49h');
    expect((await run.result()).text).toBe('Thanks.');
    expect(paid).toEqual([]);
    expect(results(model)[0]).toBe('Not called: nobody approved refund in time.');
  });

  it('is judged by its input: made, denied, or asked about', async () => {
    const rule = async ({ cents }: { readonly cents: number }) => {
      if (cents > 5_000) return { type: 'denied', reason: 'refunds end at 5,000 cents' } as const;
      return cents > 1_000 ? ('user-approval' as const) : undefined;
    };
    const model = says(
      calls(...[['refund', { order: 'o1', cents: 6_000 }] as const, ['refund', { order: 'o2', cents: 900 }] as const], [
        'refund',
        { order: 'o3', cents: 2_000 },
      ]),
      'Thanks.',
    );
    const definition = shop(model, { toolApproval: { refund: rule } });
    const world = await open(definition);
    const run = await world.start(definition, { prompt: 'Refund them.' });
    const { task, title } = await asked(world, run.id);
    expect(title).toBe('Call refund?');
    await world.client.approve(run.id, task, { approved: true, by: 'ana' });
    await run.result();
    expect(paid.map(({ order }) => order)).toEqual(['o2', 'o3']);
    expect(results(model)[0]).toBe('Not called: refunds end at 5,000 cents.');
  });

  it('is not made where its rule has changed since it was planned', async () => {
    const ways = [undefined, 'user-approval'];
    const model = says(twoCalls, 'Thanks.');
    const definition = shop(model, { toolApproval: { refund: () => ways.shift() } });
    const world = await open(definition);
    await (await world.start(definition, { prompt: 'Refund o1.' })).result();
    expect(paid).toEqual([]);
    expect(results(model)[0]).toBe('Not called: refund is made by other rules now. Call it again.');
  });

  it('is never made by a rule that gives something else', async () => {
    const definition = shop(says(twoCalls), { toolApproval: { refund: () => true } });
    const world = await open(definition);
    const run = await world.start(definition, { prompt: 'Refund o1.' });
    await expect(run.result()).rejects.toMatchObject({ code: 'workflow-parked' });
    expect(paid).toEqual([]);
  });
});

describe('the end of the loop', () => {
  const forever = says(calls(['stock', { item: 'lamp' }]));

  it.each([
    ['20 by default', {}, 20],
    ['as it says', { stopWhen: [hasToolCall('refund'), isStepCount(3)] }, 3],
  ])('comes after so many steps, %s, and the run fails', async (_, more, count) => {
    const model = says(calls(['stock', { item: 'lamp' }]));
    const definition = shop(model, { ...more, repeatsMax: 100 });
    const world = await open(definition);
    const failed = (await world.start(definition, { prompt: 'Go on.' })).result();
    await expect(failed).rejects.toThrow(`it has called its model ${count} times`);
    expect([model.prompts.length, counted]).toEqual([count, count]);
  });

  it('comes with a call of a tool, or by what was said and done, and what was called is the output', async () => {
    const input = { order: 'o1', cents: 5 };
    for (const stopWhen of [
      hasToolCall('refund'),
      ({ steps }: { steps: readonly { toolCalls: readonly unknown[] }[] }) => steps[1]?.toolCalls.length === 1,
    ]) {
      const model = says(calls(['stock', { item: 'lamp' }]), { ...(calls(['refund', input]) as object), text: 'So.' });
      const definition = shop(model, { stopWhen });
      const world = await open(definition);
      const run = await world.start(definition, { prompt: 'Refund o1.' });
      const toolCalls = [{ id: 'c1', name: 'refund', input }];
      expect(await run.result()).toEqual({ text: 'So.', toolCalls, finishReason: 'tool-calls' });
      expect(model.prompts).toHaveLength(2);
    }
    expect(paid).toHaveLength(2);
  });

  it('comes with a call that was made, not with one that was denied, refused, or did not fit', async () => {
    const asks = calls(['refund', { order: 'o1', cents: 5 }]);
    const refused = (type: string) => ({ toolApproval: { refund: type } });
    for (const [answer, more, count] of [
      [asks, refused('denied'), 0],
      [asks, refused('user-approval'), 0],
      [calls(['refund', {}]), {}, 0],
      [asks, {}, 1],
    ] as const) {
      const definition = shop(says(answer, 'So be it.'), { stopWhen: hasToolCall('refund'), ...more });
      const world = await open(definition);
      const run = await world.start(definition, { prompt: 'Refund o1.' });
      if ('toolApproval' in more && more.toolApproval.refund === 'user-approval') {
        await world.client.approve(run.id, (await asked(world, run.id)).task, { approved: false, by: 'ana' });
      }
      const { text, toolCalls } = await run.result();
      expect([text, toolCalls.length, paid.length]).toEqual([count === 0 ? 'So be it.' : '', count, count]);
    }
  });

  it('comes with the budget, which a person may raise', async () => {
    const definition = shop(forever, { budget: { tokens: 4_000 }, stopWhen: [], repeatsMax: 100 });
    const world = await open(definition);
    const run = await world.start(definition, { prompt: 'Go on.' });
    await expect(run.result()).rejects.toMatchObject({ code: 'workflow-parked' });
    expect((await run.summary())!.tokens).toBeLessThan(4_000);
  });
});

describe('an agent with an output of its own', () => {
  const output = z.object({ left: z.int(), item: z.string() });
  const counter = (model: TestModel, more: object = {}) =>
    agent({
      name: 'counter',
      model,
      tools,
      output,
      input: z.object({ item: z.string() }),
      prompt: ({ item }) => `How many ${item}s?`,
      ...more,
    });

  async function result(model: TestModel, more: object = {}) {
    const definition = counter(model, more);
    const world = await testWorld({ workflows: [definition] });
    worlds.push(world);
    return (await world.start(definition, { item: 'lamp' })).result();
  }

  it('gives it by a call, which must fit and come alone', async () => {
    const model = says(
      calls(['answer', { left: 1, item: 'lamp' }], ['stock', { item: 'lamp' }]),
      calls(['answer', { left: 'two', item: 'lamp' }]),
      calls(['answer', { left: 2, item: 'lamp' }]),
    );
    expect(await result(model)).toEqual({ left: 2, item: 'lamp' });
    expect(JSON.stringify(model.prompts[0]!.messages)).toContain('How many lamps?');
    expect(results(model)[0]).toBe('Not taken: call answer alone, once other calls have their results.');
    expect(results(model)[2]).toMatch(/^The input of answer doesn't fit: left/);
  });

  it('takes JSON, and asks for it where there are words', async () => {
    const json = '{"left":2,"item":"lamp"}';
    expect(await result(says(`\`\`\`json\n${json}\n\`\`\``))).toEqual({ left: 2, item: 'lamp' });
    const unfit = calls(['answer', { left: 'two', item: 'lamp' }]);
    for (const last of [[calls(['answer', { left: 2, item: 'lamp' }])], [unfit, json]]) {
      const model = testModel((_, call) => [calls(['stock', { item: 'lamp' }]), 'Two lamps.', ...last][call - 1]!);
      expect(await result(model, { settings: { seed: 1, toolChoice: { tool: 'stock' } } })).toEqual({
        left: 2,
        item: 'lamp',
      });
      expect(JSON.stringify(model.prompts[2]!.messages.at(-1))).toContain('Two lamps.');
      // Calls are in the conversation: some providers refuse them, or lose them, in a request without tools.
      expect(model.prompts[2]).toMatchObject({
        tools: [{ name: 'answer' }],
        settings: { seed: 1 },
        responseSchema: null,
      });
    }
  });

  it('fails where a condition ends it before', async () => {
    const ended = result(says(calls(['stock', { item: 'lamp' }])), { stopWhen: hasToolCall('stock') });
    await expect(ended).rejects.toThrow('The agent has not answered: stopWhen ended it. The last calls were stock.');
  });
});

it('streams its answers, and each run of a session hears the ones before', async () => {
  const model = says('We have two.', 'Red ones.');
  const pieces: string[] = [];
  const definition = shop(model, { stream: true });
  const world = await testWorld({
    workflows: [definition],
    onDelta: (piece) => void pieces.push(JSON.stringify(piece)),
  });
  worlds.push(world);
  await (await world.start(definition, { prompt: 'Lamps?' }, { session: 's1' })).result();
  expect(pieces.filter((piece) => piece.includes('"text"')).length).toBeGreaterThan(1);
  const second = await world.start(definition, { prompt: 'Which?' }, { session: 's1' });
  expect((await second.result()).text).toBe('Red ones.');
  expect(JSON.stringify(model.prompts[1]!.messages)).toContain('We have two.');
});

it('names every mistake of a definition', () => {
  const wrong = {
    name: 'shop',
    model: 'openai/gpt',
    tools: { answer: stock },
    toolApproval: { pay: true, answer: { type: 'user-approval', within: 'soon' } },
  };
  const define = agent as (spec: object) => unknown;
  expect(() => define({ ...wrong, stopWhen: 5, output: z.string(), temperature: 1 })).toThrow(
    /temperature is not known[\s\S]*model\(…\) of @tidemark\/ai[\s\S]*toolApproval\.pay: no tool[\s\S]*toolApproval\.pay is true[\s\S]*timer\("soon"\)[\s\S]*stopWhen must be[\s\S]*tools\.answer[\s\S]*schema of an object/,
  );
  const ofTheAiSdk = { inputSchema: z.object({}), description: 'Counts.', execute: () => 1 };
  expect(() => define({ name: 'shop', model: says('x'), tools: { ofTheAiSdk } })).toThrow(
    /tools\.ofTheAiSdk is made for the AI SDK: give input, and run/,
  );
});

it('fits its conversation into half of what the model is known to take', () => {
  const model = says('x');
  const roomOf = (definition: Agent) => definition.context?.bundles.get('loop')?.budgetTokens;
  expect(roomOf(shop(model))).toBe(32_000);
  expect(roomOf(shop({ ...model, contextTokens: 8_000 } as TestModel))).toBe(4_000);
  expect(roomOf(shop(model, { bundle: { budgetTokens: 900 } }))).toBe(900);
});
