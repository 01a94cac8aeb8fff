import { noTelemetry } from '@tidemark/ports';
import {
  agentMessage,
  child,
  defineEffect,
  defineWorkflow,
  FatalError,
  type ModelReply,
  said,
  task,
  taskGoal,
  userMessage,
} from '@tidemark/sdk';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { eventually } from './eventually.ts';
import { type TestModel, testModel } from './test-model.ts';
import { type TestWorld, type TestWorldOptions, testWorld } from './test-world.ts';

const TENANT = 'default' as never;
let world: TestWorld;
const open = async (options: TestWorldOptions): Promise<TestWorld> => {
  world = await testWorld(options);
  return world;
};
afterEach(async () => world.close());

/** Answers one question of a user, in a session. */
const assistant = (model: TestModel, more: object = {}) =>
  defineWorkflow({
    name: 'assistant',
    version: 1,
    input: z.object({ question: z.string() }),
    belief: z.object({ asked: z.int() }),
    output: z.object({ answer: z.string() }),
    tasks: { answer: z.object({}) },
    flow: { answer: [] },
    models: { default: model },
    bundles: { reply: { budgetTokens: 4_000 } },
    begin: ({ question }) => ({
      belief: { asked: 1 },
      next: [task('answer', {})],
      fragments: [taskGoal(`Answer: ${question}`), userMessage(question)],
    }),
    steps: {
      async answer(ctx) {
        const reply = await ctx.model({ bundle: 'reply' });
        return { done: { answer: reply.text }, fragments: said(reply) };
      },
    },
    ...more,
  });

const ticket = defineEffect({
  operation: 'ticket.book',
  kind: 'idempotent',
  request: z.object({}),
  response: z.object({}),
  call: async () => ({}),
  compensate: async () => {},
});

const seen = (model: TestModel, call: number): string => JSON.stringify(model.prompts[call]!.messages);

describe('a session', () => {
  it('shows a new workflow what was said before, with a belief and a frontier of its own', async () => {
    const model = testModel((_, call) => `Answer ${call}.`);
    const definition = assistant(model);
    await open({ workflows: [definition] });
    const inSession = { session: 's1', user: 'ana' };
    const first = await world.start(definition, { question: 'Where is Ghent?' }, { ...inSession, id: 'q1' });
    await first.result();
    const second = await world.start(definition, { question: 'How far is that?' }, { ...inSession, id: 'q2' });
    await second.result();
    expect(seen(model, 1)).toContain('Where is Ghent?');
    expect(seen(model, 1)).toContain('Answer 1.');
    const [call] = await world.bundles(second.id, 1);
    expect(call!.rebuilt).toBe(call!.sent);
    expect(call!.messages).toEqual(model.prompts[1]!.messages);
    // Control: without the session it sees nothing of it.
    await (await world.start(definition, { question: 'How far is that?' })).result();
    expect(seen(model, 2)).not.toContain('Where is Ghent?');
  });

  it('of the control arm sees nothing that is recalled, only its hand-over; each arm is recorded, and each bundle rebuilt', async () => {
    const model = testModel((_, call) => `Answer ${call}.`);
    const shared = (controlShare: number) => assistant(model, { recall: { controlShare } });
    // By a digest of its id, s-4 lies at 0.96 and s-0 at 0.46.
    await open({ workflows: [shared(0.5)] });
    await world.client.memory.facts(TENANT, 'user:ana').remember('Ana is allergic to nuts.', { source: 'Ana' });
    const ask = async (session: string, controlShare = 0.5, more: object = {}) => {
      await world.client.memory.handOver(TENANT, session, {
        from: 'triage',
        to: 'desk',
        message: `Over to ${session}.`,
        artifacts: [],
      });
      const how = { session, user: 'ana', ...more };
      const run = await world.start(shared(controlShare), { question: 'What may she eat?' }, how);
      await run.result();
      const [call] = await world.bundles(run.id, 1);
      expect(call!.rebuilt).toBe(call!.sent);
      expect(seen(model, model.prompts.length - 1)).toContain(`Over to ${session}.`);
      return [(await run.summary())!.tags ?? [], seen(model, model.prompts.length - 1).includes('nuts')];
    };
    expect(await ask('s-4')).toEqual([['tidemark:recall=injected'], true]);
    expect(await ask('s-0', 0.5, { tags: ['mine'] })).toEqual([['mine', 'tidemark:recall=control'], false]);
    // Nothing is compared by default, and no caller chooses the arm.
    expect(await ask('s-0', 0)).toEqual([[], true]);
    await expect(ask('s-2', 0.5, { tags: ['tidemark:recall=control'] })).rejects.toMatchObject({
      code: 'tags-invalid',
    });
  });

  it('of the control arm has its children and forks in it too, whichever step began them', async () => {
    const model = testModel(() => 'No idea.');
    const helper = assistant(model);
    const desk = defineWorkflow({
      name: 'desk',
      version: 1,
      input: z.object({}),
      belief: z.object({}),
      output: z.object({}),
      tasks: { first: z.object({}), second: z.object({}) },
      flow: { first: ['second'], second: [] },
      children: { assistant: helper },
      recall: { controlShare: 0.5 },
      begin: () => ({ belief: {}, next: [task('first', {}, { when: child('assistant', { question: 'One?' }) })] }),
      steps: {
        first: () => ({ next: [task('second', {}, { when: child('assistant', { question: 'Two?' }) })] }),
        second: () => ({ done: {} }),
      },
    });
    await open({ workflows: [helper, desk] });
    await world.client.memory.facts(TENANT, 'user:ana').remember('Ana is allergic to nuts.', { source: 'Ana' });
    const ask = async (session: string) => {
      const before = model.prompts.length;
      const run = await world.start(desk, {}, { session, user: 'ana' });
      await run.result();
      const { workflow } = await world.client.fork(`${run.id}~1.0`, {
        at: 0,
        effects: 'live',
        by: 'ana',
        definitions: [helper],
      } as never);
      await world.client.run(workflow).result();
      const ids = [`${run.id}~0.0`, `${run.id}~1.0`, workflow];
      const tags = await Promise.all(ids.map(async (id) => (await world.client.run(id).summary())?.tags));
      return [tags, model.prompts.slice(before).map((_, n) => seen(model, before + n).includes('nuts'))];
    };
    const all = (each: unknown) => Array(3).fill(each);
    expect(await ask('s-0')).toEqual([all(['tidemark:recall=control']), all(false)]);
    expect(await ask('s-4')).toEqual([all(['tidemark:recall=injected']), all(true)]);
  });

  it('runs one workflow at a time, and says which one goes on', async () => {
    const model = testModel(async () => new Promise(() => {}));
    const definition = assistant(model);
    await open({ workflows: [definition] });
    await world.start(definition, { question: 'a' }, { session: 's1', id: 'q1' });
    await eventually(() => model.prompts.length === 1);
    await expect(world.start(definition, { question: 'b' }, { session: 's1', id: 'q2' })).rejects.toMatchObject({
      code: 'session-busy',
      details: { workflow: 'q1' },
    });
    // The same id is the same run, in or out of its session.
    expect((await world.start(definition, { question: 'a' }, { session: 's1', id: 'q1' })).created).toBe(false);
  });

  it('is begun by one of many starts at once; the others name it', async () => {
    const definition = assistant(testModel(async () => new Promise(() => {})));
    await open({ workflows: [definition] });
    const starts = await Promise.allSettled(
      Array.from({ length: 8 }, (_, n) => world.start(definition, { question: 'a' }, { session: 's1', id: `q${n}` })),
    );
    const begun = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value.id] : []));
    expect(begun).toHaveLength(1);
    for (const start of starts) {
      if (start.status === 'rejected') {
        expect(start.reason).toMatchObject({ code: 'session-busy', details: { workflow: begun[0] } });
      }
    }
  });

  it('remembers a workflow that failed: what was done, why it ended and what was left', async () => {
    const definition = assistant(
      testModel(() => 'Never asked.'),
      {
        steps: {
          async answer() {
            throw new FatalError('The bank refused order 8821.');
          },
        },
      },
    );
    await open({ workflows: [definition] });
    const run = await world.start(definition, { question: 'Refund order 8821' }, { session: 's1', user: 'ana' });
    await expect(run.result()).rejects.toMatchObject({ code: 'workflow-failed' });
    const [summary] = await world.client.memory.memories(TENANT, { subject: 'user:ana', kind: 'summary', limit: 10 });
    expect(JSON.parse(summary!.value)).toMatchObject({
      session_id: 's1',
      task_description: 'Answer: Refund order 8821',
      work_completed: [expect.stringContaining('The bank refused order 8821.')],
      next_recommended_steps: ['answer'],
    });
  });

  it('remembers one that was compensated, and one that a person ended', async () => {
    const broken = assistant(
      testModel(() => 'Never asked.'),
      {
        name: 'broken',
        onFailure: 'compensate',
        effects: [ticket],
        steps: {
          async answer() {
            throw new FatalError('No ticket is left.');
          },
        },
      },
    );
    const poor = assistant(
      testModel(() => 'Never asked.'),
      { name: 'poor', budget: { workflow: { tokens: 1 } } },
    );
    await open({ workflows: [broken, poor] });
    const work = async (session: string): Promise<unknown> => {
      const subject = `session:${session}`;
      const [summary] = await world.client.memory.memories(TENANT, { subject, kind: 'summary', limit: 1 });
      return JSON.parse(summary!.value).work_completed;
    };
    const undone = await world.start(broken, { question: 'Book it' }, { session: 's1' });
    await expect(undone.result()).rejects.toMatchObject({ code: 'workflow-compensated' });
    expect(await work('s1')).toEqual([expect.stringContaining('No ticket is left.')]);
    const ended = await world.start(poor, { question: 'Book it' }, { session: 's2' });
    await expect(ended.result()).rejects.toMatchObject({ code: 'workflow-parked' });
    await world.client.decide(ended.id, { resolution: 'fail', by: 'ann', why: 'too dear' });
    await expect(ended.result()).rejects.toMatchObject({ code: 'workflow-failed' });
    expect(await work('s2')).toEqual([expect.stringContaining('A person decided')]);
  });

  it('has a name that memory can hold', async () => {
    const definition = assistant(testModel(() => 'Yes.'));
    await open({ workflows: [definition] });
    for (const field of ['session', 'user']) {
      const start = world.start(definition, { question: 'a' }, { [field]: 'x'.repeat(241) });
      await expect(start).rejects.toMatchObject({ code: `${field}-invalid`, message: expect.stringContaining('240') });
    }
    const longest = { session: 's'.repeat(240), user: 'u'.repeat(240), id: 'w'.repeat(200) };
    const run = await world.start(definition, { question: 'a' }, longest);
    expect(await run.result()).toEqual({ answer: 'Yes.' });
    expect(
      await world.client.memory.memories(TENANT, { subject: `user:${longest.user}`, kind: 'summary', limit: 1 }),
    ).toHaveLength(1);
  });

  it('leaves a summary in five parts, which a later session of the user is told', async () => {
    const model = testModel((_, call) =>
      call === 1 ? 'Refund approved for order 8821. Shall I inform the bank?' : 'Yes.',
    );
    const definition = assistant(model);
    await open({ workflows: [definition] });
    await (await world.start(definition, { question: 'Refund order 8821' }, { session: 's1', user: 'ana' })).result();
    const [summary] = await world.client.memory.memories(TENANT, { subject: 'user:ana', kind: 'summary', limit: 10 });
    expect(JSON.parse(summary!.value)).toMatchObject({
      session_id: 's1',
      task_description: expect.stringContaining('8821'),
      decisions_made: expect.any(Array),
      work_completed: expect.any(Array),
      open_questions: [expect.stringContaining('inform the bank?')],
      next_recommended_steps: expect.any(Array),
    });
    await (
      await world.start(definition, { question: 'What about order 8821?' }, { session: 's2', user: 'ana' })
    ).result();
    expect(seen(model, 1)).toContain('Earlier sessions');
    expect(seen(model, 1)).toContain('inform the bank?');
    // No other user sees it.
    await (
      await world.start(definition, { question: 'What about order 8821?' }, { session: 's3', user: 'bob' })
    ).result();
    expect(seen(model, 2)).not.toContain('inform the bank?');
  });

  it('is summarised by a model where there is one, and by rule where that fails', async () => {
    const written = JSON.stringify({
      task_description: 'Refund of order 8821',
      decisions_made: ['Refund approved'],
      work_completed: ['Refunded'],
      open_questions: [],
      next_recommended_steps: ['Tell the bank'],
    });
    const summariser = testModel((_, call) => {
      if (call === 1) return written;
      throw new Error('the provider is down');
    });
    const definition = assistant(
      testModel(() => 'Done.'),
      {
        models: { default: testModel(() => 'Done.'), writer: summariser },
        summaryModel: 'writer',
        retry: { attempts: 1 },
      },
    );
    await open({ workflows: [definition] });
    await (await world.start(definition, { question: 'Refund 8821' }, { session: 's1', user: 'ana' })).result();
    await (await world.start(definition, { question: 'Refund 9000' }, { session: 's2', user: 'ana' })).result();
    const rows = await world.client.memory.memories(TENANT, { subject: 'user:ana', kind: 'summary', limit: 10 });
    const summaries = rows.map(({ value }) => JSON.parse(value));
    expect(summaries.find(({ session_id }) => session_id === 's1')).toMatchObject({
      next_recommended_steps: ['Tell the bank'],
    });
    expect(summaries.find(({ session_id }) => session_id === 's2')).toMatchObject({
      task_description: expect.stringContaining('9000'),
    });
  });

  it('tells the next workflow who handed it over, and what was said', async () => {
    const model = testModel(() => 'On it.');
    const definition = assistant(model);
    await open({ workflows: [definition] });
    await world.client.memory.handOver(TENANT, 's1', {
      from: 'triage',
      to: 'refunds',
      message: 'The customer has waited two weeks.',
      artifacts: ['ticket-77'],
    });
    await (await world.start(definition, { question: 'Refund' }, { session: 's1' })).result();
    expect(seen(model, 0)).toContain('Handed over from triage to refunds');
    expect(seen(model, 0)).toContain('ticket-77');
  });

  it('tells what is known of its user, and no longer once it is forgotten', async () => {
    const model = testModel(() => 'Ok.');
    const definition = assistant(model);
    await open({ workflows: [definition] });
    const state = world.client.memory.userState(TENANT, 'ana');
    await state.set('language', 'Dutch');
    await world.client.memory.facts(TENANT, 'user:ana').remember('Ana is allergic to nuts.', { source: 'Ana' });
    await (await world.start(definition, { question: 'Lunch?' }, { user: 'ana' })).result();
    expect(seen(model, 0)).toContain('language: Dutch');
    expect(seen(model, 0)).toContain('allergic to nuts');
    await state.forget('language');
    expect(await state.get('language')).toBeUndefined();
    await (await world.start(definition, { question: 'Dinner?' }, { user: 'ana' })).result();
    expect(seen(model, 1)).not.toContain('Dutch');
    await expect(state.set('key', `ghp_${'a1B2c3D4e5'.repeat(4).slice(0, 36)}`)).rejects.toMatchObject({
      code: 'memory-secret',
    });
  });
});

describe('facts about domains and the tenant', () => {
  const facts = (subject: string) => world.client.memory.facts(TENANT, subject);

  it('are told to whoever works in them, those that fit the task before newer ones', async () => {
    const model = testModel(() => 'Ok.');
    const definition = assistant(model, { domains: ['kitchen'] });
    await open({ workflows: [definition] });
    await facts('domain:kitchen').remember('The oven of the cellar burns bread.', { source: 'cook' });
    for (let at = 0; at < 60; at += 1) {
      await facts('domain:kitchen').remember(`Shelf ${at} holds ${'plates '.repeat(6)}`, { source: 'inventory' });
    }
    await facts(`tenant:${TENANT}`).remember('We close at noon.', { source: 'boss' });
    await facts('domain:garden').remember('The mower is broken.', { source: 'gardener' });
    await (await world.start(definition, { question: 'May I bake bread in the oven?' })).result();
    expect(seen(model, 0)).toContain('The oven of the cellar burns bread. (kitchen, cook');
    expect(seen(model, 0)).toContain('We close at noon. (boss');
    expect(seen(model, 0)).not.toContain('The mower');
    // There is no room for all of them.
    expect(seen(model, 0)).toContain('Shelf 59');
    expect(seen(model, 0)).not.toContain('Shelf 0 ');
  });

  it('are recalled by a step, which gets the same answer at every attempt', async () => {
    const recalls: (readonly string[])[] = [];
    const clerk = defineWorkflow({
      ...{ name: 'clerk', version: 1, input: z.object({}), belief: z.object({}), domains: ['billing'] },
      output: z.object({ about: z.array(z.string()) }),
      tasks: { look: z.object({}) },
      flow: { look: [] },
      begin: () => ({ belief: {}, next: [task('look', {})] }),
      steps: {
        look: {
          retry: { attempts: 2, firstDelayMs: 1 },
          async run(ctx) {
            const { entries } = await ctx.recall('when is an invoice due', { limit: 10 });
            recalls.push(entries.map(({ text }) => text));
            if (ctx.attempt === 1) {
              await facts('domain:billing').remember('An invoice of May is due in June.', { source: 's' });
              throw new Error('once more');
            }
            await expect(ctx.recall(' ')).rejects.toMatchObject({
              code: 'recall-invalid',
              details: { field: 'question' },
            });
            const [other] = (await ctx.recall('invoice', { about: ['user:ben'], kinds: ['fact'] })).entries;
            return { done: { about: [...entries.map(({ about }) => about), other!.about] } };
          },
        },
      },
    });
    await open({ workflows: [clerk] });
    await facts('domain:billing').remember('An invoice is due in 30 days.', { source: 's' });
    await facts('user:ana').remember('An invoice of Ana is due in 10 days.', { source: 's' });
    await facts('user:ben').remember('An invoice of Ben is due now.', { source: 's' });
    const { about } = await (await world.start(clerk, {}, { user: 'ana' })).result();
    expect(about.toSorted()).toEqual(['domain:billing', 'user:ana', 'user:ben']);
    expect(recalls).toHaveLength(2);
    expect(recalls[1]).toEqual(recalls[0]);
    // Control: it would be found now.
    const now = await world.client.memory.recall(TENANT, {
      ...{ subjects: ['domain:billing'], query: 'invoice of May', kinds: ['fact'] },
    });
    expect(now.entries[0]?.memory.words).toContain('May');
  });
});

describe('memory that a step wrote', () => {
  it('can be changed and forgotten by a process that has seen less than the worker', async () => {
    const counter = defineWorkflow({
      name: 'counter',
      version: 1,
      input: z.object({}),
      belief: z.object({}),
      output: z.object({}),
      tasks: { count: z.object({ at: z.int() }) },
      flow: { count: ['count'] },
      starts: ['count'],
      begin: () => ({ belief: {}, next: [task('count', { at: 1 })] }),
      steps: {
        async count(_ctx, { at }) {
          if (at < 30) return { next: [task('count', { at: at + 1 })] };
          const memories = [{ subject: 'user:ana', kind: 'state' as const, key: 'counted', value: at }];
          return { done: {}, memories };
        },
      },
    });
    await open({ workflows: [counter] });
    await (await world.start(counter, {})).result();
    const state = world.client.memory.userState(TENANT, 'ana');
    expect(await state.get('counted')).toBe(30);
    await state.set('counted', 31);
    expect(await state.get('counted')).toBe(31);
    await (await world.start(counter, {})).result();
    expect(await state.get('counted')).toBe(30);
    await state.forget('counted');
    expect(await state.get('counted')).toBeUndefined();
  });
});

describe('a long conversation', () => {
  const talker = (model: TestModel, by: 'rule' | 'model') =>
    defineWorkflow({
      name: 'talker',
      version: 1,
      input: z.object({ turns: z.int() }),
      belief: z.object({}),
      output: z.object({ turns: z.int() }),
      tasks: { talk: z.object({ turn: z.int() }) },
      flow: { talk: ['talk'] },
      starts: ['talk'],
      models: { default: model, writer: testModel(() => 'They spoke of many numbers.') },
      summaryModel: 'writer',
      bundles: {
        talk: { budgetTokens: 2_000, summary: { thresholdTokens: 400, keepTokens: 150, by } },
      },
      begin: () => ({ belief: {}, next: [task('talk', { turn: 1 })], fragments: [taskGoal('Talk about numbers.')] }),
      steps: {
        async talk(ctx, { turn }) {
          const reply = await ctx.model({ bundle: 'talk' });
          const fragments = [
            userMessage(`Say something about the number ${turn}. `.repeat(4)),
            agentMessage(reply.text),
          ];
          return turn === ctx.input.turns
            ? { done: { turns: turn }, fragments }
            : { next: [task('talk', { turn: turn + 1 })], fragments };
        },
      },
    });

  it.each(['rule', 'model'] as const)(
    'rolls what falls off into a summary by %s, and stays rebuildable across a crash',
    async (by) => {
      const model = testModel((_, call) => `The number of this answer is ${call}, and it is a fine number indeed.`);
      const definition = talker(model, by);
      await open({ workflows: [definition] });
      world.crash({ after: 'EffectIntended', step: 'talk' });
      const run = await world.start(definition, { turns: 16 });
      await run.result();
      const last = model.prompts.at(-1)!;
      const reported = JSON.stringify(last.messages);
      expect(reported).toContain('thread_summary');
      if (by === 'model') expect(reported).toContain('They spoke of many numbers.');
      expect(reported).toContain('number 15');
      expect(reported).not.toContain('about the number 1. ');
      for (const at of [1, 8, 12, 16]) {
        const calls = await world.bundles(run.id, at);
        const call = calls.find(({ bundle }) => bundle !== undefined)!;
        expect(call.rebuilt).toBe(call.sent);
      }
    },
  );
});

describe('phases', () => {
  const phased = (steps: object, more: object = {}) =>
    defineWorkflow({
      name: 'phased',
      version: 1,
      input: z.object({}),
      belief: z.object({}),
      output: z.object({ seen: z.array(z.string()) }),
      tasks: { one: z.object({}), two: z.object({}) },
      flow: { one: ['two'], two: [] },
      models: { default: testModel(() => 'ok') },
      bundles: { work: { budgetTokens: 1_000 } },
      phases: { research: { next: ['write'], budgetTokens: 50 }, write: {} },
      retry: { attempts: 1 },
      begin: () => ({ belief: {}, next: [task('one', {})] }),
      ...more,
      steps,
    } as never);

  const failure = async (definition: unknown): Promise<string> => {
    await open({ workflows: [definition as never] });
    const run = await world.start(definition as never, {} as never);
    return run.result().then(
      () => 'it went well',
      (error: Error) => error.message,
    );
  };

  it('pass on what the hand-over carries and nothing else; reading the rest names key and phase', async () => {
    const definition = phased({
      one: async () => ({
        memory: { notes: 'tides', scratch: 'moon' },
        handOver: { to: 'write', carry: ['notes'], with: { style: 'short' }, summary: 'Researched.' },
        next: [task('two', {})],
      }),
      two: async (ctx: { memory: { phase: string; keys: string[]; get(key: string): unknown } }) => {
        const { memory } = ctx;
        const seenNow = [memory.phase, ...memory.keys, String(memory.get('notes')), String(memory.get('style'))];
        memory.get('scratch');
        return { done: { seen: seenNow } };
      },
    });
    expect(await failure(definition)).toMatch(
      /'scratch' is out of scope in phase 'write'. Phase 'research' had it and did not hand it over/,
    );
  });

  it.each([
    ['its own phase', {}, false],
    ['all phases', { phases: 'all' }, true],
  ] as const)('give a bundle what was said in %s, and rebuild it after a crash', async (_, more, hasBoth) => {
    const model = testModel(() => 'of the first phase');
    const definition = phased(
      {
        one: async (ctx: { model(options: object): Promise<ModelReply> }) => ({
          fragments: said(await ctx.model({ bundle: 'work' })),
          handOver: { to: 'write', summary: 'Researched.' },
          next: [task('two', {})],
        }),
        two: async (ctx: { model(options: object): Promise<ModelReply> }) => {
          await ctx.model({ bundle: 'work' });
          return { done: { seen: [] } };
        },
      },
      {
        models: { default: model },
        bundles: { work: { budgetTokens: 1_000, ...more } },
        begin: () => ({ belief: {}, next: [task('one', {})], fragments: [userMessage('Write it.')] }),
      },
    );
    const counted = new Map<string, number>();
    const count = (name: string, value: number) => void counted.set(name, (counted.get(name) ?? 0) + value);
    await open({ workflows: [definition as never], telemetry: { ...noTelemetry, count } });
    world.crash({ after: 'EffectIntended', step: 'two' });
    const run = await world.start(definition as never, {} as never);
    await run.result();
    const [last] = (await world.bundles(run.id, 2)).filter(({ bundle }) => bundle !== undefined);
    expect(last!.rebuilt).toBe(last!.sent);
    const prompt = seen(model, model.prompts.length - 1);
    expect(prompt).toContain('Write it.');
    expect(prompt).toContain('Researched.');
    expect(prompt.includes('of the first phase')).toBe(hasBoth);
    expect(counted.get('phase_prompts_total')).toBeGreaterThanOrEqual(2);
    expect(counted.has('memory_scope_violations_total')).toBe(hasBoth);
  });

  it('keep a prompt from holding what is out of scope', async () => {
    const definition = phased({
      one: async () => ({ next: [task('two', {})] }),
      two: async (ctx: { model(options: object): Promise<unknown> }) => {
        await ctx.model({ prompt: 'Use it.', memory: ['secret_plan'] });
        return { done: { seen: [] } };
      },
    });
    expect(await failure(definition)).toMatch(/'secret_plan' is out of scope in phase 'research'/);
  });

  it.each([
    ['', {}],
    [', though the same step hands over', { handOver: { to: 'write', summary: 'Over.' } }],
  ])('refuse a write over the budget and say by how much%s', async (_, more) => {
    const definition = phased({
      one: async () => ({ memory: { big: 'word '.repeat(100) }, next: [task('two', {})], ...more }),
      two: async () => ({ done: { seen: [] } }),
    });
    expect(await failure(definition)).toMatch(/phase 'research' would take \d+ tokens, \d+ over its budget of 50/);
  });

  it.each([
    ['summary', { to: 'write' }, /one: handOver.summary is undefined: say what the next phase is to know/],
    ['summary', null, /one: handOver.summary is undefined: say/],
    ['carry', { to: 'write', summary: '', carry: 1 }, /one: handOver.carry is 1: name keys of working memory/],
  ])('refuse a hand-over whose %s does not fit', async (_, handOver, message) => {
    const definition = phased({
      one: async () => ({ handOver, next: [task('two', {})] }),
      two: async () => ({ done: { seen: [] } }),
    });
    expect(await failure(definition)).toMatch(message);
  });

  it('refuse a hand-over that is not declared', async () => {
    const definition = phased({
      one: async () => ({ handOver: { to: 'publish', summary: '' }, next: [task('two', {})] }),
      two: async () => ({ done: { seen: [] } }),
    });
    expect(await failure(definition)).toMatch(/may not hand over to 'publish'. Declare it/);
  });
});

describe('fragments', () => {
  it('of an unknown type are refused by their place', async () => {
    const definition = defineWorkflow({
      name: 'gossip',
      version: 1,
      input: z.object({}),
      belief: z.object({}),
      output: z.object({}),
      tasks: { tell: z.object({}) },
      flow: { tell: [] },
      retry: { attempts: 1 },
      begin: () => ({ belief: {}, next: [task('tell', {})] }),
      steps: { tell: async () => ({ fragments: [{ type: 'gossip' as never, text: 'x' }], done: {} }) },
    });
    await open({ workflows: [definition] });
    const run = await world.start(definition, {});
    await expect(run.result()).rejects.toThrow(/step tell: fragments\[0\].type is 'gossip': use one of task_goal/);
  });
});
