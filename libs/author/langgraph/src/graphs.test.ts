/** Owns real graphs over the checkpointer: who may write a thread, what is left by a process that dies, the past, and what is deleted. */

import { HumanMessage } from '@langchain/core/messages';
import { Annotation, Command, END, interrupt, MessagesAnnotation, Send, START, StateGraph } from '@langchain/langgraph';
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import { Client, LamportClock, type Ports, type RecordedHost } from '@tidemark/runtime';
import { dyingAt, type TestWorld, testWorld } from '@tidemark/testkit';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TidemarkSaver } from './saver.ts';

let world: TestWorld;
beforeEach(async () => {
  world = await testWorld({ workflows: [] });
});
afterEach(() => world.close());

/** Another process on the same servers. */
const processOf = (ports: Ports = world.ports): RecordedHost => ({
  client: new Client({ ports, lamport: new LamportClock() }),
  forget: async () => {},
});
const saverOf = (ports?: Ports) => new TidemarkSaver(processOf(ports));

const State = Annotation.Root({
  done: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

type Hook = (node: string) => Promise<void> | void;
const chain = (checkpointer: TidemarkSaver, hook: Hook = () => {}) => {
  const node = (name: string) => async () => {
    await hook(name);
    return { done: [name] };
  };
  return new StateGraph(State)
    .addNode('a', node('a'))
    .addNode('b', node('b'))
    .addNode('c', node('c'))
    .addEdge(START, 'a')
    .addEdge('a', 'b')
    .addEdge('b', 'c')
    .addEdge('c', END)
    .compile({ checkpointer });
};
const on = (thread_id: string) => ({ configurable: { thread_id } });

async function historyOf(saver: TidemarkSaver, thread: string) {
  const found: { step: number; done: unknown; id: string }[] = [];
  for await (const { metadata, checkpoint } of saver.list(on(thread))) {
    found.push({ step: metadata!.step, done: checkpoint.channel_values.done, id: checkpoint.id });
  }
  return found;
}

/** An invocation that has begun its first node, and what lets it go on. */
async function heldInA(saver: TidemarkSaver) {
  const [arrived, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const graph = chain(saver, (node) => {
    if (node !== 'a') return undefined;
    arrived.resolve();
    return released.promise;
  });
  const result = graph.invoke({ done: [] }, { ...on('t'), durability: 'sync' });
  result.catch(() => {});
  await arrived.promise;
  return [result, released.resolve] as const;
}

describe('a thread', () => {
  it('is resumed by another process where the first one died', async () => {
    const dies = chain(saverOf(), (node) => {
      if (node === 'b') throw new Error('killed');
    });
    await expect(dies.invoke({ done: [] }, on('t'))).rejects.toThrow('killed');
    const ran: string[] = [];
    const other = chain(saverOf(), (node) => void ran.push(node));
    expect(await other.invoke(null, on('t'))).toEqual({ done: ['a', 'b', 'c'] });
    expect(ran).toEqual(['b', 'c']);
  });

  it('has one writer: of two processes that invoke it, the second to write is refused by name', async () => {
    await chain(saverOf()).invoke({ done: [] }, on('t'));
    const [first, release] = await heldInA(saverOf());
    await chain(saverOf()).invoke({ done: [] }, on('t'));
    release();
    await expect(first).rejects.toMatchObject({ code: 'thread-written-elsewhere' });
    await expect(first).rejects.toThrow(/Thread t/);
    // What is there is one run after the other, and no mix.
    expect((await chain(saverOf()).getState(on('t'))).values).toEqual({ done: ['a', 'b', 'c', 'a', 'b', 'c'] });
  });

  it('has one writer within a process as well', async () => {
    const saver = saverOf();
    await chain(saver).invoke({ done: [] }, on('t'));
    const [slow, release] = await heldInA(saver);
    await chain(saver).invoke({ done: [] }, on('t'));
    release();
    await expect(slow).rejects.toMatchObject({ code: 'thread-written-elsewhere' });
    expect((await chain(saver).getState(on('t'))).values).toEqual({ done: ['a', 'b', 'c', 'a', 'b', 'c'] });
    await chain(saver).invoke({ done: [] }, on('t'));
  });

  it('keeps nothing of an invocation after its first refusal, wherever it writes, until the newest is read again', async () => {
    const meta = { source: 'loop', step: 0, parents: {} } as const;
    const [first, second] = [saverOf(), saverOf()];
    const inside = { configurable: { thread_id: 't', checkpoint_ns: 'inside' } };
    const refused = { code: 'thread-written-elsewhere' };
    // Where there is no thread yet, and where there is one.
    for (const _ of ['new', 'known']) {
      const newest = await first.getTuple(on('t'));
      const after = newest?.config ?? on('t');
      await second.getTuple(on('t'));
      await second.put(inside, emptyCheckpoint(), meta, {});
      await expect(first.put(after, emptyCheckpoint(), meta, {})).rejects.toMatchObject(refused);
      await expect(first.put(after, emptyCheckpoint(), meta, {})).rejects.toMatchObject(refused);
      expect(await first.getTuple(on('t'))).toEqual(newest);
      await first.put(after, emptyCheckpoint(), meta, {});
    }
  });

  it('that begins twice at once begins once', async () => {
    const [first, second] = [saverOf(), saverOf()];
    const results = await Promise.allSettled([
      chain(first).invoke({ done: [] }, on('new')),
      chain(second).invoke({ done: [] }, on('new')),
    ]);
    const kept = (await chain(saverOf()).getState(on('new'))).values.done;
    const count = results.filter(({ status }) => status === 'fulfilled').length;
    expect(count).toBeGreaterThan(0);
    expect(kept).toEqual(Array(count).fill(['a', 'b', 'c']).flat());
  });

  it('goes on from its past at a person’s wish, and forks there', async () => {
    const saver = saverOf();
    const graph = chain(saver);
    await graph.invoke({ done: [] }, on('t'));
    await graph.invoke({ done: ['again'] }, on('t'));
    const history = await historyOf(saver, 't');
    const past = history.find(({ done }) => JSON.stringify(done) === '["a"]')!;
    const at = { configurable: { thread_id: 't', checkpoint_id: past.id } };
    expect(await graph.invoke(null, at)).toEqual({ done: ['a', 'b', 'c'] });
    const fork = await graph.updateState(at, { done: ['other'] }, 'a');
    expect(await graph.invoke(null, fork)).toEqual({ done: ['a', 'other', 'b', 'c'] });
    // The other branch is still there, whole.
    const whole = (await historyOf(saverOf(), 't')).map(({ done }) => JSON.stringify(done));
    expect(whole).toContain(JSON.stringify(['a', 'b', 'c', 'again', 'a', 'b', 'c']));
    expect(await historyOf(saverOf(), 't')).toEqual(await historyOf(saver, 't'));
  });

  it('asks a person, and goes on in another process with the answer', async () => {
    const graphOf = (saver: TidemarkSaver) =>
      new StateGraph(State)
        .addNode('ask', () => ({ done: [interrupt({ question: 'may I?' }) as string] }))
        .addEdge(START, 'ask')
        .addEdge('ask', END)
        .compile({ checkpointer: saver });
    await graphOf(saverOf()).invoke({ done: [] }, on('t'));
    const waiting = await graphOf(saverOf()).getState(on('t'));
    expect(waiting.tasks[0]?.interrupts[0]?.value).toEqual({ question: 'may I?' });
    expect(await graphOf(saverOf()).invoke(new Command({ resume: 'yes' }), on('t'))).toEqual({ done: ['yes'] });
  });

  it('keeps messages, parallel tasks and more subgraphs than its newest state has room for', async () => {
    const inner = new StateGraph(State)
      .addNode('leaf', () => ({ done: ['leaf'] }))
      .addEdge(START, 'leaf')
      .addEdge('leaf', END)
      .compile();
    const saver = saverOf();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode('call', async () => {
        const { done } = await inner.invoke({ done: [] });
        return { messages: [new HumanMessage(done.join())] };
      })
      .addConditionalEdges(START, () => Array.from({ length: 70 }, () => new Send('call', { messages: [] })))
      .addEdge('call', END)
      .compile({ checkpointer: saver });
    await graph.invoke({ messages: [] }, on('t'));
    const { values } = await graph.getState(on('t'));
    expect(values.messages).toHaveLength(70);
    expect(values.messages[0]).toBeInstanceOf(HumanMessage);
    const namespaces = new Set<string>();
    for await (const { config } of saver.list(on('t'))) namespaces.add(config.configurable!.checkpoint_ns);
    expect(namespaces.size).toBe(71);
    const newest = await Promise.all(
      [...namespaces].map((checkpoint_ns) => saverOf().getTuple({ configurable: { thread_id: 't', checkpoint_ns } })),
    );
    expect(newest.every((tuple) => tuple !== undefined)).toBe(true);
  });

  it('has what was written before a checkpoint that comes later, once that is there', async () => {
    const saver = saverOf();
    const place = (checkpoint_id: string | undefined) => ({
      configurable: { thread_id: 't', checkpoint_ns: '', checkpoint_id },
    });
    const [first, second] = [uuid6(0), uuid6(1)];
    const meta = { source: 'loop', step: 0, parents: {} } as const;
    await saver.putWrites(place(first), [['x', 1]], 'task', '~~0');
    expect(await saver.getTuple(on('t'))).toBeUndefined();
    await saver.put(place(undefined), { ...emptyCheckpoint(), id: first }, meta, {});
    await saver.putWrites(
      place(first),
      [
        ['x', 'later'],
        ['y', 2],
      ],
      'task',
      '~~0',
    );
    const expected = [
      ['task', 'x', 1],
      ['task', 'y', 2],
    ];
    expect((await saver.getTuple(on('t')))?.pendingWrites).toEqual(expected);
    await saver.put(place(first), { ...emptyCheckpoint(), id: second }, meta, {});
    expect((await saverOf().getTuple(place(first)))?.pendingWrites).toEqual(expected);
    const listed: unknown[] = [];
    for await (const tuple of saverOf().list(on('t'))) listed.push([tuple.checkpoint.id, tuple.pendingWrites]);
    expect(listed).toEqual([
      [second, []],
      [first, expected],
    ]);
  });
});

describe('a process that dies while it writes', () => {
  it('leaves a state that was, at every append and for both durabilities, and another one goes on from there', async () => {
    const want = ['a', 'b', 'c'];
    for (const durability of ['sync', 'async', 'exit'] as const) {
      for (let at = 2; at <= 9; at++) {
        for (const isKept of [false, true]) {
          const thread = `${durability}-${at}-${isKept}`;
          const ran: string[] = [];
          const note: Hook = (node) => void ran.push(node);
          const first = chain(saverOf(dyingAt(world.ports, at, isKept)), note).invoke(
            { done: [] },
            { ...on(thread), durability },
          );
          const isDone = await first.then(
            () => true,
            () => false,
          );
          const graph = chain(saverOf(), note);
          const state = await graph.getState(on(thread));
          const done = (state.values.done ?? []) as string[];
          // Each checkpoint is one that a run without a death has.
          expect(want.slice(0, done.length)).toEqual(done);
          if (state.config.configurable?.checkpoint_id === undefined) continue;
          if (state.next.length > 0) expect(await graph.invoke(null, on(thread))).toEqual({ done: want });
          else if (isDone) expect(done).toEqual(want);
          for (const { done: past = [] } of await historyOf(saverOf(), thread)) {
            expect(want.slice(0, (past as string[]).length)).toEqual(past);
          }
        }
      }
    }
  });
});

describe('bad input', () => {
  const meta = { source: 'loop', step: 0, parents: {} } as const;
  it.each([
    ['a thread without a name', { thread_id: '' }, 'thread_id'],
    ['a thread that is no text', { thread_id: 7 }, 'thread_id'],
    ['a thread of 5,000 characters', { thread_id: 'x'.repeat(5_000) }, 'thread_id'],
    ['half a character', { thread_id: '\ud800' }, 'thread_id'],
    ['a namespace that is no text', { thread_id: 't', checkpoint_ns: 7 }, 'checkpoint_ns'],
  ])('names the field: %s', async (_, configurable, field) => {
    await expect(saverOf().put({ configurable }, emptyCheckpoint(), meta, {})).rejects.toMatchObject({
      code: 'config-invalid',
      details: { field },
    });
  });

  it.each(['a/b', '../..', 'x'.repeat(4_000), '__proto__', 'a~2', '#a', 'ünï', 'with\u0000nul'])(
    'takes any other name of a thread, each its own: %s',
    async (thread_id) => {
      const saver = saverOf();
      await saver.put({ configurable: { thread_id } }, emptyCheckpoint(), meta, {});
      expect(await saverOf().getTuple({ configurable: { thread_id } })).toBeDefined();
      const listed: unknown[] = [];
      for await (const tuple of saver.list({})) listed.push(tuple.config.configurable?.thread_id);
      expect(listed).toEqual([thread_id]);
    },
  );

  it('shows a thread to its own tenant alone', async () => {
    const acme = new TidemarkSaver(processOf(), { tenant: 'acme' });
    await acme.put(on('t'), emptyCheckpoint(), meta, {});
    expect(await saverOf().getTuple(on('t'))).toBeUndefined();
    expect(await new TidemarkSaver(processOf(), { tenant: 'globex' }).getTuple(on('t'))).toBeUndefined();
    const listed: unknown[] = [];
    for await (const tuple of saverOf().list({})) listed.push(tuple);
    expect(listed).toEqual([]);
    // The name is free for each tenant.
    await saverOf().put(on('t'), emptyCheckpoint(), meta, {});
    expect(await acme.getTuple(on('t'))).not.toEqual(await saverOf().getTuple(on('t')));
  });

  it('keeps what the framework’s serializer keeps, and names the channel that it can’t', async () => {
    const saver = saverOf();
    const values = { map: new Map([[1, new Set(['x'])]]), bytes: new Uint8Array([0, 255]), none: undefined, re: /x/gi };
    const versions = Object.fromEntries(Object.keys(values).map((key) => [key, 1]));
    const checkpoint = { ...emptyCheckpoint(), channel_values: values, channel_versions: versions };
    await saver.put(on('t'), checkpoint, meta, versions);
    expect((await saverOf().getTuple(on('t')))?.checkpoint.channel_values).toEqual(values);
    const dumpsTyped = (): never => {
      throw new TypeError('a socket is no value');
    };
    const unfit = new TidemarkSaver(processOf(), { serde: { dumpsTyped, loadsTyped: dumpsTyped } });
    const bad = { ...emptyCheckpoint(), channel_values: { line: 1 }, channel_versions: { line: 1 } };
    await expect(unfit.put(on('t'), bad, meta, { line: 1 })).rejects.toThrow(
      /^channel line|^checkpoint: the serializer/,
    );
    // The others of the same moment are kept.
    expect(await saver.getTuple(on('t'))).toMatchObject({ checkpoint: { id: checkpoint.id } });
  });

  it('refuses a checkpoint of a newer format by name, and follows no checkpoint that is unknown', async () => {
    const saver = saverOf();
    await saver.put(on('t'), { ...emptyCheckpoint(), v: 99 }, meta, {});
    await expect(saver.getTuple(on('t'))).rejects.toMatchObject({ code: 'checkpoint-newer' });
    const after = { configurable: { thread_id: 'u', checkpoint_id: uuid6(0) } };
    await expect(saver.put(after, emptyCheckpoint(), meta, {})).rejects.toMatchObject({ code: 'checkpoint-unknown' });
  });
});
