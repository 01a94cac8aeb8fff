/** Owns the cases of the framework's store, on whatever host a test opens. */

import type { BaseStore } from '@langchain/langgraph-checkpoint';
import { type Embedder, memoryIndexer } from '@tidemark/memory';
import { Client, LamportClock, type Ports } from '@tidemark/runtime';
import { expect, it } from 'vitest';
import { type StoreHost, type StoreOptions, TidemarkStore } from './store.ts';

/** Knows animals from money, in whatever words. */
const meanings: Embedder = {
  model: 'meanings',
  dimension: 2,
  embed: async (texts) =>
    texts.map((text) => (/whale|animal/.test(text) ? Float32Array.of(1, 0) : Float32Array.of(0, 1))),
};

/** Registers them. Each case has a store of its own. */
export function storeCases(host: () => StoreHost & { readonly ports: Ports }): void {
  let count = 0;
  const fresh = (options: StoreOptions = {}) => {
    const name = `store-${++count}`;
    return () => new TidemarkStore(host(), { ...options, name });
  };
  const keysOf = async (store: BaseStore, ...asked: Parameters<BaseStore['search']>) =>
    (await store.search(...asked)).map(({ key }) => key);

  it('keeps, changes and deletes items, which another process reads', async () => {
    const store = fresh();
    await store().put(['users', 'ana'], 'prefs', { theme: 'dark' });
    const first = (await store().get(['users', 'ana'], 'prefs'))!;
    expect(first).toMatchObject({ key: 'prefs', namespace: ['users', 'ana'], value: { theme: 'dark' } });
    expect(first.createdAt.getTime()).toBeLessThanOrEqual(first.updatedAt.getTime());
    await store().put(['users', 'ana'], 'prefs', { theme: 'light', of: [1, null] });
    const second = (await store().get(['users', 'ana'], 'prefs'))!;
    expect(second).toMatchObject({ value: { theme: 'light', of: [1, null] }, createdAt: first.createdAt });
    expect(await store().get(['users'], 'prefs')).toBeNull();
    await store().delete(['users', 'ana'], 'prefs');
    await store().delete(['users', 'ana'], 'none');
    expect(await store().get(['users', 'ana'], 'prefs')).toBeNull();
    expect(await store().listNamespaces()).toEqual([]);
  });

  it('does the operations of a batch, the reads before the writes, the last write of a key', async () => {
    const store = fresh()();
    await store.put(['a'], 'x', { n: 0 });
    const [found, , , listed] = (await store.batch([
      { namespace: ['a'], key: 'x' },
      { namespace: ['a'], key: 'x', value: { n: 1 } },
      { namespace: ['a'], key: 'x', value: { n: 2 } },
      { matchConditions: [], limit: 10, offset: 0 },
    ])) as unknown[];
    expect(found).toMatchObject({ value: { n: 0 } });
    expect(listed).toEqual([['a']]);
    expect(await store.get(['a'], 'x')).toMatchObject({ value: { n: 2 } });
  });

  it('searches below a prefix, with filters and pages, and finds words', async () => {
    const store = fresh({ fields: ['title', 'parts[*].text'] })();
    await store.batch(
      [1, 2, 3].flatMap((n) =>
        ['docs', 'docsy'].map((root) => ({
          namespace: [root, n % 2 === 0 ? 'even' : 'odd'],
          key: `d${n}`,
          value: {
            n,
            title: `number ${n}`,
            parts: [{ text: n === 2 ? 'a whale in the harbour' : 'nothing' }],
            tag: ['x'],
          },
        })),
      ),
    );
    expect(await keysOf(store, ['docs'])).toEqual(['d2', 'd1', 'd3']);
    expect(await keysOf(store, ['docs'], { limit: 1, offset: 1 })).toEqual(['d1']);
    expect(await keysOf(store, ['docs', 'odd'], { filter: { n: { $gt: 1 } } })).toEqual(['d3']);
    expect(await keysOf(store, ['docs'], { filter: { n: { $in: [1, 2] }, tag: ['x'] } })).toEqual(['d2', 'd1']);
    expect(await keysOf(store, ['docs'], { filter: { n: 4 } })).toEqual([]);
    expect(await keysOf(store, [], { limit: 100 })).toHaveLength(6);
    const whales = await store.search(['docs'], { query: 'whale harbour' });
    expect(whales.map(({ key, score }) => [key, score! > 0.3])).toEqual([['d2', true]]);
    expect(await keysOf(store, ['docs'], { query: 'whale', filter: { n: 1 } })).toEqual([]);
    await store.put(['docs', 'even'], 'd2', { n: 2, title: 'hidden whale' }, false);
    expect(await keysOf(store, ['docs'], { query: 'whale' })).toEqual([]);
    expect(await store.listNamespaces({ prefix: ['docs'] })).toEqual([
      ['docs', 'even'],
      ['docs', 'odd'],
    ]);
    expect(await store.listNamespaces({ prefix: ['*', 'odd'], maxDepth: 1 })).toEqual([['docs'], ['docsy']]);
    expect(await store.listNamespaces({ suffix: ['even'], limit: 1, offset: 1 })).toEqual([['docsy', 'even']]);
  });

  it('finds by meaning where there is an embedder, as far as a value is searched', async () => {
    const { ports } = host();
    const name = `store-${++count}`;
    const client = new Client({ ports, lamport: new LamportClock(), embedder: meanings });
    const store = new TidemarkStore({ client }, { name, fields: ['title'] });
    const titles = ['a whale in the harbour', 'a bill of the plumber'];
    await store.batch(
      titles.map((title, n) => ({ namespace: ['docs'], key: `d${n}`, value: { title, note: 'an animal' } })),
    );
    await memoryIndexer({ store: ports.store, embedder: meanings }).run();
    const found = await store.search(['docs'], { query: 'some animal' });
    expect(found.map(({ key, score }) => [key, score! > 0.3])).toEqual([['d0', true]]);
    expect(await keysOf(store, ['docs'], { query: 'money' })).toEqual(['d1']);
    // Words alone find neither.
    const words = new TidemarkStore(host(), { name, fields: ['title'] });
    expect(await keysOf(words, ['docs'], { query: 'some animal' })).toEqual([]);
  });

  it('keeps a thousand keys, and both of two processes that write at once', async () => {
    const store = fresh();
    const put = (n: number) => ({ namespace: ['many'], key: `k${n}`, value: { n } });
    await store().batch(Array.from({ length: 1_000 }, (_, n) => put(n)));
    await Promise.all([store().batch([put(1_000)]), store().batch([put(1_001)])]);
    expect(await keysOf(store(), ['many'], { limit: 2_000 })).toHaveLength(1_002);
    expect(await store().get(['many'], 'k999')).toMatchObject({ value: { n: 999 } });
  });
}
