/** Owns the framework's store on a world, inside a graph, and what it refuses. */

import { Annotation, START, StateGraph } from '@langchain/langgraph';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TidemarkSaver } from './saver.ts';
import { TidemarkStore } from './store.ts';
import { storeCases } from './store-fixture.ts';

let world: TestWorld;
beforeAll(async () => {
  world = await testWorld({ workflows: [] });
});
afterAll(() => world.close());

storeCases(() => world);

it('serves a graph', async () => {
  const graph = new StateGraph(Annotation.Root({ said: Annotation<string> }))
    .addNode('a', async (_, { store }) => {
      const known = await store!.get(['users', 'bo'], 'name');
      await store!.put(['users', 'bo'], 'name', { name: 'Bo' });
      return { said: known === null ? 'who?' : `hello ${known.value.name}` };
    })
    .addEdge(START, 'a')
    .compile({ store: new TidemarkStore(world) });
  expect(await graph.invoke({})).toEqual({ said: 'who?' });
  expect(await graph.invoke({})).toEqual({ said: 'hello Bo' });
});

it('shows what is a tenant’s to nobody else', async () => {
  await new TidemarkStore(world, { tenant: 'acme' }).put(['x'], 'k', { a: 1 });
  expect(await new TidemarkStore(world).get(['x'], 'k')).toBeNull();
  expect(await new TidemarkStore(world, { tenant: 'acme' }).get(['x'], 'k')).not.toBeNull();
});

const put = { namespace: ['a'], key: 'k', value: {} };
const loop: Record<string, unknown> = {};
loop.self = loop;

it.each([
  ['a key with NUL', { ...put, key: 'a\0b' }, /operations\[1\]\.key: give 1 to 256/],
  ['a key of 4 KB', { ...put, key: 'k'.repeat(4_096) }, /operations\[1\]\.key: .*digest/],
  ['no key', { ...put, key: '' }, /operations\[1\]\.key/],
  ['half a character', { ...put, key: '\ud800' }, /operations\[1\]\.key/],
  [
    'a label with a dot',
    { ...put, namespace: ['a', 'b.c'] },
    /operations\[1\]\.namespace\[1\]: give a text without '\.'/,
  ],
  ['an empty label', { ...put, namespace: ['a', ''] }, /namespace\[1\]: .*not an empty one/],
  ['no labels', { ...put, namespace: [] }, /namespace: give an array of 1 or more/],
  ['labels that are too long', { ...put, namespace: ['x'.repeat(300)] }, /namespace: its labels have 304 characters/],
  ['a value that is a list', { ...put, value: [1] }, /value: give an object, or null/],
  ['a value that is no JSON', { ...put, value: { at: { n: 1n } } }, /operations\[1\]\.value.*at.*n/],
  ['a value in itself', { ...put, value: loop }, /operations\[1\]\.value/],
  ['an unfit index', { ...put, index: 'title' }, /index: give false, or an array/],
  ['an unknown operator', { namespacePrefix: ['a'], filter: { n: { $like: 1 } } }, /filter\.n: use \$eq.*not \$like/],
  ['no limit', { namespacePrefix: ['a'], limit: -1 }, /limit: give a whole number/],
  ['half an offset', { matchConditions: [], limit: 1, offset: 0.5 }, /offset: give a whole number/],
])('names the field of %s, and writes nothing of the batch', async (_, operation, message) => {
  const store = new TidemarkStore(world, { name: 'bad' });
  const batch = [{ namespace: ['fine'], key: 'k', value: { n: 1 } }, operation];
  await expect(store.batch(batch as never)).rejects.toThrow(message);
  expect(await store.get(['fine'], 'k')).toBeNull();
});

it('refuses an option that it does not know, as the saver does', () => {
  for (const Made of [TidemarkStore, TidemarkSaver]) {
    expect(() => new Made(world as never, { tennant: 'acme' } as never)).toThrow(/takes no option tennant/);
  }
});

it('keeps no secret', async () => {
  const store = new TidemarkStore(world);
  const value = { note: 'AKIAIOSFODNN7EXAMPLE' };
  await expect(store.put(['a'], 'k', value)).rejects.toMatchObject({ code: 'memory-secret' });
});
