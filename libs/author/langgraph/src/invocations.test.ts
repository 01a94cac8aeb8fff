/** Invocations that are behind keep nothing, whatever they do and whoever reads meanwhile; and what does not fit harms nothing else. */

import { Annotation, END, MemorySaver, START, StateGraph } from '@langchain/langgraph';
import { type BaseCheckpointSaver, emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import { DEFAULT_TENANT } from '@tidemark/core';
import { Client, LamportClock } from '@tidemark/runtime';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { adoptThread } from './adopt.ts';
import { TidemarkSaver } from './saver.ts';

let world: TestWorld;
beforeEach(async () => {
  world = await testWorld({ workflows: [] });
});
afterEach(() => world.close());
const saverOf = () =>
  new TidemarkSaver({
    client: new Client({ ports: world.ports, lamport: new LamportClock() }),
    forget: async () => {},
  });

const State = Annotation.Root({
  done: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
const on = (thread_id: string, more: object = {}) => ({ configurable: { thread_id, checkpoint_ns: '', ...more } });
const meta = { source: 'loop', step: 0, parents: {} } as const;
const cp = (n: number, values: Record<string, unknown> = {}) => ({
  ...emptyCheckpoint(),
  id: uuid6(n),
  channel_values: values,
  channel_versions: Object.fromEntries(Object.keys(values).map((channel) => [channel, 1])),
});
const refused = { code: 'thread-written-elsewhere' };

/** A graph whose first node waits until it is let go; then it calls a graph of its own. */
function held(saver: BaseCheckpointSaver, name: string) {
  const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const inner = new StateGraph(State)
    .addNode('leaf', () => ({ done: [name] }))
    .addEdge(START, 'leaf')
    .addEdge('leaf', END)
    .compile({ checkpointer: true });
  const graph = new StateGraph(State)
    .addNode('wait', async () => {
      arrived.resolve();
      await released.promise;
      return {};
    })
    .addNode('sub', async () => ({ done: [(await inner.invoke({ done: [] })).done.join('+')] }))
    .addEdge(START, 'wait')
    .addEdge('wait', 'sub')
    .addEdge('sub', END)
    .compile({ checkpointer: saver });
  return { graph, arrived: arrived.promise, release: released.resolve };
}
const free = (saver: BaseCheckpointSaver, name: string) => {
  const { graph, release } = held(saver, name);
  release();
  return graph;
};

describe.each(['sync', 'async', 'exit'] as const)('an invocation that is behind, with durability %s,', (durability) => {
  it.each(['the same process', 'another process'])(
    'keeps nothing, its subgraphs neither, behind one of %s',
    async (whose) => {
      const first = saverOf();
      const second = whose === 'the same process' ? first : saverOf();
      await free(first, 'zero').invoke({ done: ['in'] }, on('t'));
      const { graph, arrived, release } = held(first, 'STALE');
      const stale = graph.invoke({ done: ['stale'] }, { ...on('t'), durability });
      stale.catch(() => {});
      await arrived;
      await free(second, 'good').invoke({ done: ['fine'] }, on('t'));
      // Whoever looks meanwhile, at whatever, changes nothing.
      const states = [];
      for await (const state of graph.getStateHistory(on('t'))) states.push(state);
      for (const { config } of states) await graph.getState(config);
      await graph.getState(on('t'));
      release();
      await expect(stale).rejects.toMatchObject(refused);
      const { values } = await free(saverOf(), 'x').getState(on('t'));
      expect(values.done).not.toContain('STALE');
      expect(values.done.filter((each: string) => each === 'fine')).toHaveLength(1);
      const last = await free(saverOf(), 'next').invoke({ done: [] }, on('t'));
      expect(last.done.join()).not.toContain('STALE');
    },
  );
});

it('two that resume one checkpoint at once mix none of their tasks’ writes', async () => {
  const Both = Annotation.Root({ x: Annotation<string>, y: Annotation<string>, z: Annotation<string> });
  const graphOf = (saver: BaseCheckpointSaver, n: () => Partial<typeof Both.State>, fails = true) =>
    new StateGraph(Both)
      .addNode('n', n)
      .addNode('q', () => {
        if (fails) throw new Error('no');
        return { z: 'z' };
      })
      .addEdge(START, 'n')
      .addEdge(START, 'q')
      .addEdge('n', END)
      .addEdge('q', END)
      .compile({ checkpointer: saver, interruptBefore: ['n', 'q'] });
  const saver = saverOf();
  await graphOf(saver, () => ({})).invoke({ x: '0' }, on('t'));
  const both = await Promise.allSettled([
    graphOf(saver, () => ({ x: 'A' })).invoke(null, on('t')),
    graphOf(saver, () => ({ x: 'B', y: 'B' })).invoke(null, on('t')),
  ]);
  expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  const ended = await graphOf(saverOf(), () => ({ x: 'C', y: 'C' }), false).invoke(null, on('t'));
  expect([JSON.stringify(['A', undefined]), JSON.stringify(['B', 'B']), JSON.stringify(['C', 'C'])]).toContain(
    JSON.stringify([ended.x, ended.y]),
  );
});

it('two updates that read the same checkpoint do not lose each other', async () => {
  const saver = saverOf();
  const first = await saver.put(on('t'), cp(1), meta, {});
  for (const _ of [1, 2]) await saver.getTuple(on('t'));
  await saver.put(first, cp(2), meta, {});
  await expect(saver.put(first, cp(3), meta, {})).rejects.toMatchObject(refused);
});

it('a copy of a checkpoint is whole', async () => {
  const graphOf = (saver: BaseCheckpointSaver) =>
    new StateGraph(State)
      .addNode('a', () => ({ done: ['a'] }))
      .addNode('b', () => ({ done: ['b'] }))
      .addEdge(START, 'a')
      .addEdge('a', 'b')
      .addEdge('b', END)
      .compile({ checkpointer: saver });
  const copied = async (saver: BaseCheckpointSaver) => {
    const graph = graphOf(saver);
    await graph.invoke({ done: ['in'] }, on('t'));
    for await (const { config, next } of graph.getStateHistory(on('t'))) {
      if (next[0] !== 'b') continue;
      const copy = await graph.updateState(config, null, '__copy__');
      return [(await graph.getState(copy)).next, await graph.invoke(null, copy)];
    }
    return undefined;
  };
  expect(await copied(saverOf())).toEqual(await copied(new MemorySaver()));
});

describe('what does not fit', () => {
  it('is refused by itself, and is never seen', async () => {
    const saver = saverOf();
    const large = 'x'.repeat(6_000_000);
    await saver.put(on('t'), cp(1), meta, {});
    const first = (await saver.getTuple(on('t')))!.config;
    const writes = (task: string, value: string) => saver.putWrites(first, [['x', value]], task);
    const results = await Promise.allSettled([
      writes('a', 'small'),
      writes('b', large),
      writes('c', 'small'),
      saver.put(on('t', { checkpoint_ns: 'q' }), cp(2, { x: large }), meta, { x: 1 }),
      saver.put(on('t', { checkpoint_ns: 'ok' }), cp(3, { x: 'y' }), meta, { x: 1 }),
    ]);
    expect(results.map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'rejected',
      'fulfilled',
    ]);
    expect(results[1]).toMatchObject({ reason: { name: 'LimitError' } });
    const fresh = saverOf();
    expect((await fresh.getTuple(on('t')))?.pendingWrites?.map(([task]) => task)).toEqual(['a', 'c']);
    expect(await fresh.getTuple(on('t', { checkpoint_ns: 'q' }))).toBeUndefined();
    expect(await fresh.getTuple(on('t', { checkpoint_ns: 'ok' }))).toBeDefined();
  });

  it('is not the sum of what fits: many large namespaces, and long names of them', async () => {
    const saver = saverOf();
    for (let n = 1; n <= 80; n++) {
      const checkpoint_ns = n % 2 === 0 ? `${'deep|'.repeat(200)}${n}` : `sub:${n}`;
      await saver.put(on('t', { checkpoint_ns }), cp(n, { x: `${n}`.repeat(25_000) }), meta, { x: 1 });
    }
    for (const n of [1, 2, 40, 79, 80]) {
      const checkpoint_ns = n % 2 === 0 ? `${'deep|'.repeat(200)}${n}` : `sub:${n}`;
      const found = await saverOf().getTuple(on('t', { checkpoint_ns }));
      expect(found?.checkpoint.channel_values.x).toBe(`${n}`.repeat(25_000));
    }
  });
});

it('a checkpoint that is put again keeps the writes to it', async () => {
  const saver = saverOf();
  const checkpoint = cp(1);
  const config = await saver.put(on('t'), checkpoint, meta, {});
  await saver.putWrites(config, [['x', 1]], 'task');
  await saver.put(on('t'), checkpoint, meta, {});
  expect((await saverOf().getTuple(on('t')))?.pendingWrites).toEqual([['task', 'x', 1]]);
});

it('what was deleted is not written back by who read it before', async () => {
  const saver = saverOf();
  const config = await saver.put(on('t'), cp(1, { x: 'secret' }), meta, { x: 1 });
  await saver.deleteThread('t');
  await expect(saver.putWrites(config, [['x', 'secret']], 'task')).rejects.toMatchObject({ code: 'thread-deleted' });
  const { graph, arrived, release } = held(saver, 'x');
  const running = graph.invoke({ done: [] }, { ...on('u'), durability: 'sync' });
  running.catch(() => {});
  await arrived;
  await saver.deleteThread('u');
  release();
  await expect(running).rejects.toMatchObject(refused);
  // Deleted by another process.
  const after = await saver.put(on('v'), cp(1, { x: 'secret' }), meta, { x: 1 });
  await saverOf().deleteThread('v');
  await expect(saver.putWrites(after, [['x', 'secret']], 'task')).rejects.toMatchObject(refused);
  await expect(saver.put(on('w', { checkpoint_id: cp(1).id }), cp(2), meta, {})).rejects.toThrow(/has no checkpoint/);
  for (const id of ['t', 'u', 'v', 'w']) expect(await saverOf().getTuple(on(id))).toBeUndefined();
  const isOpen = async () => {
    const rows = await world.ports.store.search({ definition: 'langgraph', tenant: DEFAULT_TENANT, limit: 10 });
    return rows.map(({ closedInGeneration }) => closedInGeneration === null);
  };
  // What was refused has opened nothing either.
  await expect.poll(isOpen).toEqual([false, false, false]);
});

it('a list has each checkpoint with its writes, however many there are and however late these came', async () => {
  const saver = saverOf();
  let config = on('t');
  const configs = [];
  for (let n = 1; n <= 1_100; n++) {
    config = (await saver.put(config, cp(n), meta, {})) as typeof config;
    configs.push(config);
  }
  for (const each of configs.slice(0, 20)) {
    await saver.getTuple(each);
    await saver.putWrites(each, [['x', 1]], 'task');
  }
  const listed = [];
  for await (const tuple of saverOf().list(on('t'))) listed.push(tuple.pendingWrites!.length);
  expect(listed).toEqual([...Array(1_080).fill(0), ...Array(20).fill(1)]);
});

describe('a thread that is taken over', () => {
  it('says that a task ended at the source meanwhile', async () => {
    const memory = new MemorySaver();
    const config = await memory.put(on('t'), cp(1), meta);
    const saver = saverOf();
    const put = saver.put.bind(saver);
    saver.put = async (...given) => {
      await memory.putWrites(config, [['x', 1]], 'task');
      return put(...given);
    };
    await expect(adoptThread(memory, saver, 't')).rejects.toMatchObject({ code: 'thread-moved-on' });
    await adoptThread(memory, saverOf(), 't');
    expect((await saverOf().getTuple(on('t')))?.pendingWrites).toEqual([['task', 'x', 1]]);
  });

  it('is not mixed with what its target has by itself, and may have ids that no clock ordered', async () => {
    const memory = new MemorySaver();
    const parent = await memory.put(on('t'), cp(9), meta);
    await memory.put(parent, { ...cp(1), id: uuid6(0).replace(/^./, '0') }, meta);
    await adoptThread(memory, saverOf(), 't');
    const saver = saverOf();
    const found = (await saver.getTuple(on('t')))!;
    expect(found.parentConfig?.configurable?.checkpoint_id).toBe(parent.configurable?.checkpoint_id);
    await saver.putWrites(found.config, [['x', 'own']], 'other');
    await expect(adoptThread(memory, saverOf(), 't')).rejects.toMatchObject({ code: 'thread-diverged' });
  });
});
