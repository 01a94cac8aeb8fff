/** Threads that move between checkpointers, in flight: nothing is lost, nothing runs twice, and they come back as they were. */

import { Annotation, Command, END, interrupt, MemorySaver, START, StateGraph } from '@langchain/langgraph';
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { adoptThread } from './adopt.ts';
import { TidemarkSaver } from './saver.ts';

let world: TestWorld;
beforeEach(async () => {
  world = await testWorld({ workflows: [] });
});
afterEach(() => world.close());
const ours = () => new TidemarkSaver({ client: world.client, forget: async () => {} });

const State = Annotation.Root({
  done: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
const ran: string[] = [];
const graphOf = (checkpointer: BaseCheckpointSaver) =>
  new StateGraph(State)
    .addNode('first', () => {
      ran.push('first');
      return {};
    })
    .addNode('left', () => {
      ran.push('left');
      return { done: ['left'] };
    })
    .addNode('ask', () => ({ done: [interrupt('may I?') as string] }))
    .addNode('last', () => {
      ran.push('last');
      return { done: ['last'] };
    })
    .addEdge(START, 'first')
    .addEdge('first', 'left')
    .addEdge('first', 'ask')
    .addEdge(['left', 'ask'], 'last')
    .addEdge('last', END)
    .compile({ checkpointer });
const on = { configurable: { thread_id: 't' } };

/** Without values that have no version: the one in memory keeps those as well, and the framework makes them anew. */
async function listed(saver: BaseCheckpointSaver) {
  const found = [];
  for await (const tuple of saver.list(on)) {
    const { channel_values: values, ...rest } = tuple.checkpoint;
    const versioned = Object.entries(values).filter(([channel]) => channel in rest.channel_versions);
    found.push({ ...tuple, checkpoint: { ...rest, channel_values: Object.fromEntries(versioned) } });
  }
  return found;
}

it('takes a thread over in flight, none of whose tasks runs twice, and gives it back whole', async () => {
  const memory = new MemorySaver();
  ran.length = 0;
  await graphOf(memory).invoke({ done: ['in'] }, on);
  const before = await listed(memory);
  expect(await adoptThread(memory, ours(), 't')).toEqual({ thread: 't', copiedCount: before.length, knownCount: 0 });
  expect(await listed(ours())).toEqual(before);
  expect(await adoptThread(memory, ours(), 't')).toEqual({ thread: 't', copiedCount: 0, knownCount: before.length });
  expect(await listed(ours())).toEqual(before);

  expect(await graphOf(ours()).invoke(new Command({ resume: 'yes' }), on)).toEqual({
    done: ['in', 'yes', 'left', 'last'],
  });
  expect(ran).toEqual(['first', 'left', 'last']);
  const back = new MemorySaver();
  await adoptThread(ours(), back, 't');
  expect(await listed(back)).toEqual(await listed(ours()));
  expect((await graphOf(back).getState(on)).values).toEqual({ done: ['in', 'yes', 'left', 'last'] });
  // The source is behind now, and says so instead of mixing both.
  await expect(adoptThread(memory, ours(), 't')).rejects.toMatchObject({ code: 'thread-diverged' });
});

it('goes on where it died', async () => {
  const memory = new MemorySaver();
  const graph = graphOf(memory);
  await graph.invoke({ done: ['in'] }, on);
  const saver = ours();
  for (let stopAt = 1; stopAt <= 4; stopAt++) {
    let count = 0;
    const dying = new Proxy(saver, {
      get(target, key) {
        const value = Reflect.get(target, key, target) as unknown;
        if (typeof value !== 'function') return value;
        return (...given: unknown[]) => {
          if ((key === 'put' || key === 'putWrites') && ++count > stopAt) throw new Error('killed');
          return value.apply(target, given) as unknown;
        };
      },
    });
    await adoptThread(memory, dying, 't').catch((error: unknown) => expect(error).toMatchObject({ message: 'killed' }));
  }
  await adoptThread(memory, saver, 't');
  expect(await listed(saver)).toEqual(await listed(memory));
});

it('says when the thread was invoked at the source meanwhile', async () => {
  const memory = new MemorySaver();
  await graphOf(memory).invoke({ done: ['in'] }, on);
  const saver = ours();
  const put = saver.put.bind(saver);
  let isResumed = false;
  saver.put = async (...given) => {
    if (!isResumed) {
      isResumed = true;
      await graphOf(memory).invoke(new Command({ resume: 'yes' }), on);
    }
    return put(...given);
  };
  await expect(adoptThread(memory, saver, 't')).rejects.toMatchObject({ code: 'thread-moved-on' });
});
