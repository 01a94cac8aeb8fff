/** Owns graphs as runs: that they do what the framework does, what nodes call, how people answer, and what is refused. */

import { BaseChatModel } from '@langchain/core/language_models/chat_models';
import { AIMessage, HumanMessage, RemoveMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { FakeListChatModel } from '@langchain/core/utils/testing';
import {
  Annotation,
  END,
  interrupt,
  MessagesAnnotation,
  MessagesDeltaValue,
  Send,
  START,
  StateGraph,
  StateSchema,
} from '@langchain/langgraph';
import { createReactAgent } from '@langchain/langgraph/prebuilt';
import { type Json, type Sequence, shownBelief } from '@tidemark/core';
import { workflowAt } from '@tidemark/runtime';
import { defineEffect, secret, type Workflow } from '@tidemark/sdk';
import { crashEverywhere, type TestWorld, testWorld } from '@tidemark/testkit';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { durableGraph } from './durable-graph.ts';
import { asked, byFramework, ended, GRAPHS, List, named, START_LIST, says } from './graphs-fixture.ts';
import { journaled, NodeCalls, nodeContext } from './node-context.ts';

let opened: TestWorld | undefined;
afterEach(() => opened?.close());

async function worldOf(...workflows: Workflow[]): Promise<TestWorld> {
  opened = await testWorld({ workflows });
  return opened;
}

it.each(Object.entries(GRAPHS))(
  'ends as with the framework: %s',
  async (_, { graph, input = START_LIST, answers = [] }) => {
    const definition = durableGraph(graph, named('graph'));
    const expected = await byFramework(graph, input, answers);
    expect(await ended(await worldOf(definition), definition, input, answers)).toEqual(expected);
  },
);

const charge = defineEffect({
  operation: 'charge',
  kind: 'idempotent',
  request: z.object({ what: z.string() }),
  response: z.object({ id: z.string() }),
  call: async ({ what }) => ({ id: `charged ${what}` }),
});

describe('what a node calls', () => {
  const model = journaled(new FakeListChatModel({ responses: Array.from({ length: 9 }, (_, n) => `answer ${n}`) }));
  const told: string[] = [];
  const ran: string[] = [];
  const look = journaled(
    tool(({ at }: { at: string }) => told.push(at) && `saw ${at}`, {
      ...{ name: 'look', description: 'looks' },
      schema: z.object({ at: z.string() }),
    }),
  );
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('call', async ({ messages }) => {
      ran.push('call');
      const [one, two] = await Promise.all(['a', 'b'].map((at) => look.invoke({ at })));
      const { id } = await nodeContext().effect(charge, { what: String(messages.length) });
      const drawn = await nodeContext().run('draw', () => `drawn ${ran.length}`);
      const answer = interrupt(`${one} ${two} ${id} ${drawn}`);
      const after = await nodeContext().effect(charge, { what: 'after' });
      return { messages: [new AIMessage(`${answer} ${drawn} ${after.id}`), await model.invoke(messages)] };
    })
    .addNode('forget', ({ messages }) => ({ messages: [new RemoveMessage({ id: messages[0]!.id! })] }))
    .addEdge(START, 'call')
    .addEdge('call', 'forget')
    .compile();
  const definition = durableGraph(graph, { ...named('calls'), effects: [charge] });

  it('is done once, also before an interrupt and whoever dies', async () => {
    const { outcome } = await crashEverywhere({ workflows: [definition] }, async (world) => {
      told.length = ran.length = 0;
      const run = await world.start(definition, { messages: [{ role: 'user', content: 'hi' }] });
      const { task: waiting, title } = await asked(world, run.id);
      await world.client.approve(run.id, waiting, { approved: true, by: 'ana', value: 'yes' });
      const { messages } = (await run.result()) as { messages: { kwargs: { content: string } }[] };
      const [said, answer] = messages.map(({ kwargs }) => kwargs.content);
      // It got after the answer what it had got before, and a killed node has called at most once more what changes nothing outside.
      expect(title).toMatch(/^saw a saw b charged 1 drawn [12]$/);
      expect(said).toBe(`yes ${title!.slice(-7)} charged after`);
      expect(ran.length).toBeLessThanOrEqual(3);
      expect(told.length).toBeLessThanOrEqual(4);
      return answer!.replace(/\d/, 'N');
    });
    expect(outcome).toBe('answer N');
  });

  it('is done again by a node that calls it by itself, which is what the rest is for', async () => {
    const outside: string[] = [];
    const plain = new StateGraph(List)
      .addNode('call', async () => {
        outside.push('called');
        await nodeContext().effect(charge, { what: 'x' });
        return { done: ['called'] };
      })
      .addEdge(START, 'call')
      .compile();
    const definition = durableGraph(plain, { ...named('plain'), effects: [charge] });
    const world = await worldOf(definition);
    world.crash({ after: 'EffectResolved' });
    await ended(world, definition, { done: [] });
    expect(outside).toEqual(['called', 'called']);
    expect(world.calls(charge)).toHaveLength(1);
  });

  it('is refused where it asks something else after an interrupt than before, and outside of a node', async () => {
    let count = 0;
    const other = new StateGraph(List)
      .addNode('call', async () => {
        await nodeContext().effect(charge, { what: String(count++) });
        return { done: [interrupt('?') as string] };
      })
      .addEdge(START, 'call')
      .compile();
    const changing = durableGraph(other, { ...named('other'), effects: [charge] });
    const world = await worldOf(changing);
    await expect(ended(world, changing, { done: [] }, ['yes'])).rejects.toThrow(/effect charge: before its interrupt/);
    expect(world.calls(charge)).toHaveLength(1);
    expect(() => nodeContext()).toThrow(/in the node/);
  });
});

it('an agent that the framework makes is a run as it is, with its model and its tools recorded', async () => {
  const calls = ['x', 'y'].map((at) => ({ id: at, name: 'look', args: { at } }));
  const answers = [new AIMessage({ content: '', tool_calls: calls }), new AIMessage('done')];
  class ScriptedModel extends BaseChatModel {
    _llmType() {
      return 'scripted';
    }
    override bindTools() {
      return this as never;
    }
    async _generate() {
      return { generations: [{ text: '', message: answers.shift()! }] };
    }
  }
  const look = tool(({ at }: { at: string }) => `saw ${at}`, {
    ...{ name: 'look', description: 'looks' },
    schema: z.object({ at: z.string() }),
  });
  const agent = createReactAgent({ llm: journaled(new ScriptedModel({})), tools: [journaled(look)] });
  const definition = durableGraph(agent, named('agent'));
  const world = await worldOf(definition);
  world.crash({ before: 'CheckpointCommitted', step: 'tools' });
  const { messages } = (await ended(world, definition, { messages: [{ role: 'user', content: 'hi' }] })) as {
    messages: { kwargs: { content: string } }[];
  };
  expect(messages.map(({ kwargs }) => kwargs.content)).toEqual(['hi', '', 'saw x', 'saw y', 'done']);
});

describe('a question', () => {
  const graph = new StateGraph(List)
    .addNode('ask', () => ({ done: [String(interrupt({ pay: 5 }, { responseSchema: z.string() }))] }))
    .addEdge(START, 'ask')
    .compile();

  it('is in the inbox with what the node says, is asked again where the answer does not fit, and ends the run where it is refused', async () => {
    const definition = durableGraph(graph, {
      ...named('ask'),
      ask: ({ node }) => ({ title: `Pay, ${node}?`, assignee: 'user:ana' }),
    });
    const world = await worldOf(
      definition,
      durableGraph(graph, { ...named('plain'), refused: ({ by, why }) => `${by} ${why}` }),
    );
    const run = await world.start(definition, { done: [] });
    const first = await asked(world, run.id);
    expect(first).toMatchObject({ title: 'Pay, ask?', assignee: 'user:ana' });
    await world.client.approve(run.id, first.task, { approved: true, by: 'ana', value: 7 });
    const second = await asked(world, run.id, [first.task]);
    expect(JSON.stringify(second)).toMatch(/expected string/);
    await world.client.approve(run.id, second.task, { approved: false, by: 'ana', why: 'too much' });
    await expect(run.result()).rejects.toThrow('ana refused to answer node ask: too much.');
  });

  it('may be refused in words that the graph understands, and shows the value where nothing else is said', async () => {
    const definition = durableGraph(graph, { ...named('plain'), refused: ({ by, why }) => `${by}: ${why}` });
    const world = await worldOf(definition);
    const run = await world.start(definition, { done: [] });
    const question = await asked(world, run.id);
    expect(question).toMatchObject({ title: 'ask asks' });
    expect(JSON.stringify(question)).toContain('{"pay":5}');
    await world.client.approve(run.id, question.task, { approved: false, by: 'ana', why: 'no' });
    expect(await run.result()).toEqual({ done: ['ana: no'] });
  });
});

describe('the recursion limit', () => {
  const loop = (limit: number, at = new StateGraph(List)) =>
    at
      .addNode('a', says('a'))
      .addEdge(START, 'a')
      .addConditionalEdges('a', ({ done }) => (done.length < 5 ? 'a' : END))
      .compile()
      .withConfig({ recursionLimit: limit });

  it.each([5, 6])('%s is where the framework has it', async (limit) => {
    const definition = durableGraph(loop(limit), named('loop'));
    const world = await worldOf(definition);
    const theirs = await loop(limit)
      .invoke({ done: [] })
      .catch(() => undefined);
    const ours = await ended(world, definition, { done: [] }).catch((error: Error) => {
      expect(error.message).toContain(`Recursion limit of ${limit} reached`);
      return undefined;
    });
    expect(ours).toEqual(theirs);
  });

  it('counts in subgraphs', async () => {
    const endless = new StateGraph(List).addNode('i', says('i')).addEdge(START, 'i').addEdge('i', 'i').compile();
    const graph = new StateGraph(List).addNode('inner', endless).addEdge(START, 'inner').compile();
    const definition = durableGraph(graph, named('endless'));
    await expect(ended(await worldOf(definition), definition, { done: [] })).rejects.toThrow(
      /limit of 25 reached in inner/,
    );
  });
});

describe('is refused by name', () => {
  const state = () => new StateGraph(List).addNode('a', says('a')).addEdge(START, 'a');

  it.each([
    ['what is not compiled', state(), /give what compile\(\) returns/],
    ['nothing', null, /give what compile\(\) returns/],
    ['a breakpoint', state().compile({ interruptBefore: ['a'] }), /interruptBefore.*interrupt\(\) in the node/],
    [
      'a reserved name',
      new StateGraph(List).addNode('superstep', says('')).addEdge(START, 'superstep').compile(),
      /Rename/,
    ],
  ])('%s', (_, graph, message) => {
    expect(() => durableGraph(graph as never, named('unfit'))).toThrow(message);
  });

  it('a channel whose value is spread over old checkpoints, and an effect with secrets', async () => {
    const spread = new StateGraph(new StateSchema({ messages: MessagesDeltaValue }))
      .addNode('a', () => ({ messages: [new HumanMessage('x')] }))
      .addEdge(START, 'a')
      .compile();
    const delta = durableGraph(spread, named('delta'));
    const login = defineEffect({
      operation: 'login',
      kind: 'idempotent',
      request: z.object({ password: secret(z.string()) }),
      response: z.object({}),
      call: async () => ({}),
    });
    const { context } = new NodeCalls({} as never, 'task', []);
    await expect(context.effect(login, { password: 'x' })).rejects.toThrow(/login has secret fields/);
    await expect(ended(await worldOf(delta), delta, { messages: [] })).rejects.toThrow(
      /DeltaChannel.*ordinary channel/,
    );
  });
});

it('takes thirty sends, each of which is a task of its node’s name, messages, and a name with spaces', async () => {
  let ranCount = 0;
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('ask the model', () => {
      ranCount++;
      return { messages: [new HumanMessage('x')] };
    })
    .addConditionalEdges(START, () => Array.from({ length: 30 }, () => new Send('ask the model', { messages: [] })))
    .compile();
  const definition = durableGraph(graph, named('many'));
  const world = await worldOf(definition);
  const run = await world.start(definition, { messages: [] });
  expect(((await run.result()) as { messages: unknown[] }).messages).toHaveLength(30);
  expect(ranCount).toBe(30);
  const rows = await world.ports.store.checkpoints(run.id, { from: 1 as Sequence, limit: 200 });
  const counts = Map.groupBy(rows, ({ step }) => step);
  expect([...counts].map(([step, all]) => [step, all.length])).toEqual([
    ['superstep', 2],
    ['ask the model', 30],
  ]);
});

it('has its values as its belief by name, also bytes, and what the framework needs where no view shows it', async () => {
  const Values = Annotation.Root({ n: Annotation<number>, at: Annotation<Uint8Array>, words: Annotation<string[]> });
  const graph = new StateGraph(Values)
    .addNode('add', ({ n, words }) => ({ n: n + 1, words: [...words, 'added'], at: new Uint8Array([7]) }))
    .addNode('ask', ({ at }) => ({ words: [interrupt('which word?'), String(at[0])] }))
    .addEdge(START, 'add')
    .addEdge('add', 'ask')
    .compile();
  const definition = durableGraph(graph, named('shown'));
  const world = await worldOf(definition);
  const run = await world.start(definition, { n: 1, words: [] });
  const { task } = await asked(world, run.id);
  const { content } = await workflowAt(world.ports, run.id, 2 as Sequence);
  expect(shownBelief(content.belief)).toEqual({ n: 2, words: ['added'] });
  await world.client.approve(run.id, task, { approved: true, by: 'ana', value: 'last' });
  expect(await run.result()).toMatchObject({ n: 2, words: ['last', '7'] });
});

it('is forked with other values by name, and says what is missing where they are all that it is given', async () => {
  const ran: string[] = [];
  const Values = Annotation.Root({ n: Annotation<number>, words: Annotation<string[]> });
  const graph = new StateGraph(Values)
    .addNode('one', ({ n }) => ({ n: n + 1, words: [String(ran.push('one'))] }))
    .addNode('two', ({ n, words }) => ({ n: n * 10, words: [...words, String(ran.push('two'))] }))
    .addEdge(START, 'one')
    .addEdge('one', 'two')
    .compile();
  const definition = durableGraph(graph, named('forked'));
  const world = await worldOf(definition);
  const run = await world.start(definition, { n: 1, words: [] });
  await run.result();
  const { content } = await workflowAt(world.ports, run.id, 2 as Sequence);
  const belief = content.belief as { readonly [name: string]: Json };
  const fork = (given: Json) =>
    world.client.fork(run.id, { at: 2, effects: 'live', by: 'ana', definitions: [definition], belief: given });
  const shown = shownBelief(belief) as object;
  expect(shown).toEqual({ n: 2, words: ['1'] });
  for (const given of [{ ...shown, n: 7 }, null, 'n'])
    await expect(fork(given)).rejects.toThrow(/no member ~graph.*show --json/s);
  const { workflow } = await fork({ ...belief, n: 7 });
  expect(await world.client.run(workflow).result()).toEqual({ n: 70, words: ['1', '3'] });
  expect(ran).toEqual(['one', 'two', 'two']);
});
