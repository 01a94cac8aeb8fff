/** The store of keys over a topic and an index in memory: crashes between the two, a lost index, a compacted topic (K1, K2). */

import { UnavailableError } from '@tidemark/core';
import type { StoredKey } from '@tidemark/ports';
import { keyIndexContract } from '@tidemark/testkit/contracts/key-index';
import { keyProviderContract } from '@tidemark/testkit/contracts/key-provider';
import { keyStoreContract, listed, storedKey } from '@tidemark/testkit/contracts/key-store';
import { keyTopicContract } from '@tidemark/testkit/contracts/key-topic';
import { MemoryKeyIndex, MemoryKeyProvider, MemoryKeyTopic } from '@tidemark/testkit/contracts/memory-keys';
import { beforeEach, describe, expect, test } from 'vitest';
import { ProjectedKeyStore } from './projected-keys.ts';

keyTopicContract('in memory', async () => {
  const topic = new MemoryKeyTopic();
  return { topic, again: async () => topic.again(), close: () => topic.close() };
});
keyIndexContract('in memory', async () => ({ index: new MemoryKeyIndex(), close: async () => {} }));
keyProviderContract('in memory', async () => {
  const keys = new MemoryKeyProvider();
  return {
    keys,
    again: async () => keys.again(),
    async rotate() {
      keys.version++;
      return keys.again();
    },
    foreign: (dataKey, context) => new MemoryKeyProvider().wrap(dataKey, context),
    damaged: (key) => ({ ...key, wrapped: `${key.wrapped[0] === 'A' ? 'B' : 'A'}${key.wrapped.slice(1)}` }),
    async away() {
      const away = keys.again();
      away.onCall = () => {
        throw new UnavailableError('keys-unavailable', 'The provider is away.');
      };
      return away;
    },
    secrets: () => [],
    close: () => keys.close(),
  };
});

describe.each(['is kept', 'is lost whenever another process comes'])('the index %s', (what) => {
  keyStoreContract('topic and index in memory', async () => {
    const topic = new MemoryKeyTopic();
    const index = new MemoryKeyIndex();
    const store = new ProjectedKeyStore(topic, index);
    const again = async () => {
      if (what !== 'is kept') index.lose();
      return new ProjectedKeyStore(topic.again(), index);
    };
    return { store, again, close: () => store.close() };
  });
});

let topic: MemoryKeyTopic;
let index: MemoryKeyIndex;
let store: ProjectedKeyStore;
beforeEach(() => {
  topic = new MemoryKeyTopic();
  index = new MemoryKeyIndex();
  store = new ProjectedKeyStore(topic, index);
});
const anotherStore = (): ProjectedKeyStore => new ProjectedKeyStore(topic.again(), index);
const has = async (key: StoredKey): Promise<boolean> => (await store.get([key.id])).get(key.id) != null;

describe('between topic and index', () => {
  test('a put that died before the index is found all the same', async () => {
    const key = storedKey();
    await topic.append([key]);
    expect((await index.get([key.id])).size).toBe(0);
    expect((await store.get([key.id])).get(key.id)).toEqual(key);
    expect((await index.get([key.id])).size).toBe(1);
  });

  test('a put counts while the index is away, and is found when it is back', async () => {
    const key = storedKey();
    index.failing = 'before';
    await store.put([key]);
    await expect(store.get([key.id])).rejects.toMatchObject({ name: 'UnavailableError', code: 'keys-unavailable' });
    index.failing = undefined;
    expect(await has(key)).toBe(true);
  });

  test('a put whose fate in the topic is not known fails, and may be made again', async () => {
    const key = storedKey();
    topic.failing = 'after';
    await expect(store.put([key])).rejects.toMatchObject({ code: 'keys-unavailable' });
    topic.failing = undefined;
    await store.put([key]);
    expect(await listed(store)).toEqual([key]);
  });

  test('a put that the topic refused is nowhere', async () => {
    const key = storedKey();
    topic.failing = 'before';
    await expect(store.put([key])).rejects.toMatchObject({ code: 'keys-unavailable' });
    topic.failing = undefined;
    expect(await has(key)).toBe(false);
  });

  test('K1: a destruction does not count before the index has it; made again it does', async () => {
    const key = storedKey();
    await store.put([key]);
    index.failing = 'before';
    await expect(store.destroy([key.id])).rejects.toMatchObject({ code: 'keys-unavailable' });
    index.failing = undefined;
    await store.destroy([key.id]);
    expect(await has(key)).toBe(false);
  });

  test('K1: a destruction that died before the index is seen by whoever looks for another key next', async () => {
    const key = storedKey();
    await store.put([key]);
    await topic.destroy([key.id]);
    await store.get([storedKey().id]);
    expect(await has(key)).toBe(false);
  });

  test('K3: what an index lacks is not called unknown before the topic was read, destroyed or not', async () => {
    const [kept, gone, unknown] = [storedKey(), storedKey(), storedKey()];
    await topic.append([kept, gone]);
    await topic.destroy([gone.id]);
    expect((await index.get([kept.id, gone.id])).size).toBe(0);
    const found = await store.get([kept.id, gone.id, unknown.id]);
    expect([found.get(kept.id), found.get(gone.id), found.get(unknown.id)]).toEqual([kept, null, undefined]);
    const read = topic.readCount;
    await store.get([gone.id]);
    expect(topic.readCount).toBe(read);
  });

  test('an index that stored and did not say so goes on from there', async () => {
    const keys = [storedKey(), storedKey()];
    index.failing = 'after';
    await store.put([keys[0]!]);
    index.failing = undefined;
    await store.put([keys[1]!]);
    expect(await listed(store)).toEqual(keys);
  });

  test('other errors of the index are not hidden', async () => {
    index.apply = async () => Promise.reject(new Error('a bug'));
    await expect(store.put([storedKey()])).rejects.toThrow('a bug');
    index.apply = async () => Promise.reject(new UnavailableError('store-unavailable', 'Postgres is away'));
    await expect(store.destroy([storedKey().id])).rejects.toMatchObject({
      code: 'keys-unavailable',
      message: expect.stringContaining('Postgres is away'),
    });
  });
});

describe('a lost index', () => {
  test('is filled again from the topic, whatever is asked for first', async () => {
    const keys = Array.from({ length: 450 }, () => storedKey());
    await store.put(keys);
    await store.destroy([keys[7]!.id]);
    const left = keys.filter((_, place) => place !== 7);
    index.lose();
    expect(await listed(store)).toEqual(left);
    index.lose();
    expect(await has(keys[449]!)).toBe(true);
    expect(await has(keys[7]!)).toBe(false);
    index.lose();
    await store.destroy([keys[8]!.id]);
    expect(await listed(store)).toEqual(left.slice(0, 7).concat(left.slice(8)));
  });

  test('is filled to the same from a topic that was compacted', async () => {
    const keys = Array.from({ length: 30 }, () => storedKey());
    await store.put(keys);
    await store.put(keys.slice(0, 10).map((key) => ({ ...key, wrappedBy: 'key 2', wrapped: `${key.wrapped}2` })));
    await store.destroy(keys.slice(5, 15).map(({ id }) => id));
    const before = await listed(store);
    topic.compact();
    index.lose();
    expect(await listed(store)).toEqual(before);
    expect(topic.wrapped.toSorted()).toEqual(before.map(({ wrapped }) => wrapped).sort());
  });

  test('K1: one that was away while a destruction came and went from the topic learns of it', async () => {
    const key = storedKey();
    await store.put([key]);
    await topic.destroy([key.id]);
    topic.compact();
    await store.get([storedKey().id]);
    expect(await has(key)).toBe(false);
  });
});

describe('wrapped anew while it is destroyed', () => {
  test('K1: it stays destroyed, also after compaction and in a new index, and its bytes go from the topic', async () => {
    const key = storedKey();
    await store.put([key]);
    await store.destroy([key.id]);
    topic.compact();
    const anew = { ...key, wrappedBy: 'key 2', wrapped: 'wrapped anew' };
    await anotherStore().put([anew]);
    expect(await has(key)).toBe(false);
    // The control: without a further destruction, compaction would keep them.
    expect(topic.wrapped).toContain('wrapped anew');
    topic.compact();
    expect(topic.wrapped).toEqual([]);
    index.lose();
    expect(await listed(store)).toEqual([]);
  });

  test('K1: when its writer died right after, whoever catches up next sees to it', async () => {
    const key = storedKey();
    await store.put([key]);
    await store.destroy([key.id]);
    await topic.append([{ ...key, wrapped: 'wrapped anew' }]);
    index.lose();
    expect(await listed(store)).toEqual([]);
    topic.compact();
    expect(topic.wrapped).toEqual([]);
  });

  test('what was seen to once is not destroyed again and again', async () => {
    const key = storedKey();
    await store.put([key]);
    await store.destroy([key.id]);
    await store.put([key]);
    const { length } = await changes();
    index.lose();
    await listed(store);
    expect(await changes()).toHaveLength(length);
  });

  async function changes(): Promise<unknown[]> {
    const all: unknown[] = [];
    for await (const page of topic.readAll()) all.push(...page.changes);
    return all;
  }
});

describe('catching up', () => {
  test('is shared by those who come meanwhile, and none of them misses what was there before it asked', async () => {
    const { promise: open, resolve: release } = Promise.withResolvers<void>();
    topic.onRead = () => open;
    const first = store.get([storedKey().id]);
    await Promise.resolve();
    // Written after the first has found the end, and before the others ask.
    const key = storedKey();
    await topic.append([key]);
    const others = Array.from({ length: 50 }, () => store.get([key.id]));
    release();
    await first;
    for (const found of await Promise.all(others)) expect(found.get(key.id)).toEqual(key);
    expect(topic.readCount).toBe(2);
  });

  test('one that failed does not fail those who come after', async () => {
    const key = storedKey();
    await topic.append([key]);
    topic.failing = 'before';
    await expect(store.get([key.id])).rejects.toMatchObject({ code: 'keys-unavailable' });
    topic.failing = undefined;
    expect(await has(key)).toBe(true);
  });

  test('goes on from where another process moved the index to', async () => {
    const keys = Array.from({ length: 250 }, () => storedKey());
    await topic.append(keys);
    let isFirst = true;
    const other = anotherStore();
    index.onApply = async () => {
      if (!isFirst) return;
      isFirst = false;
      await other.get([keys[0]!.id]);
    };
    expect(await listed(store)).toEqual(keys);
  });

  test('of many processes at once over one index comes to the same', async () => {
    const stores = Array.from({ length: 8 }, anotherStore);
    const keys = Array.from({ length: 80 }, () => storedKey());
    await Promise.all(keys.map((key, place) => stores[place % 8]!.put([key])));
    await Promise.all(keys.slice(0, 20).map(({ id }, place) => stores[place % 8]!.destroy([id])));
    expect(await listed(store)).toEqual(keys.slice(20));
  });

  test('gives up on an index that is moved again and again', async () => {
    await topic.append([storedKey()]);
    index.apply = async () => ({ isApplied: false });
    await expect(listed(store)).rejects.toMatchObject({
      code: 'keys-unavailable',
      message: expect.stringContaining('moved the index of keys 100 times'),
    });
  });
});
