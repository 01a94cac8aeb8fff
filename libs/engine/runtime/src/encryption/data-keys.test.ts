/** Data keys over a provider and a store in memory: sharing, caching, destruction, rotation, faults. */

import type { KeyObject } from 'node:crypto';
import { inspect } from 'node:util';
import { type ErrorDetails, InvalidError, tenantId, UnavailableError, workflowId } from '@tidemark/core';
import { DATA_KEY_BYTES } from '@tidemark/ports';
import { spellings } from '@tidemark/testkit/contracts/key-provider';
import { listed, storedKey } from '@tidemark/testkit/contracts/key-store';
import { MemoryKeyIndex, MemoryKeyProvider, MemoryKeyTopic } from '@tidemark/testkit/contracts/memory-keys';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { systemPrng } from '../kernel/system.ts';
import { DataKeys, type DataKeysOptions, REWRAP_BATCH_COUNT } from './data-keys.ts';
import { ProjectedKeyStore } from './projected-keys.ts';

const context = { tenant: tenantId('harbour'), workflow: workflowId('unload'), user: null };

let provider: MemoryKeyProvider;
let topic: MemoryKeyTopic;
let index: MemoryKeyIndex;
let store: ProjectedKeyStore;
let clock: SimulatedClock;
beforeEach(() => {
  provider = new MemoryKeyProvider();
  topic = new MemoryKeyTopic();
  index = new MemoryKeyIndex();
  store = new ProjectedKeyStore(topic, index);
  clock = new SimulatedClock();
});

const open = (more: Partial<DataKeysOptions> = {}): DataKeys =>
  new DataKeys({ provider, store, prng: systemPrng, clock, maxAgeMs: 100, absentMs: 10, ...more });
const hex = (key: KeyObject | null | undefined): string | null | undefined =>
  key === null ? null : key?.export().toString('hex');
const same = (bytes: Uint8Array): Uint8Array => bytes;
const throttled = (details: ErrorDetails = {}): UnavailableError =>
  new UnavailableError('keys-unavailable', 'KMS throttles', { isThrottled: true, ...details });

describe('a new key', () => {
  test('is random, has an id of its own, and is held', async () => {
    const keys = open();
    const made = await Promise.all(Array.from({ length: 20 }, () => keys.create(context)));
    expect(new Set(made.map(({ id }) => id)).size).toBe(20);
    expect(new Set(made.map(({ key }) => hex(key))).size).toBe(20);
    for (const { id, key } of made) {
      expect(key.symmetricKeySize).toBe(DATA_KEY_BYTES);
      expect(hex(keys.peek(id))).toBe(hex(key));
    }
    expect(provider.count('unwrap')).toBe(0);
  });

  test('is durable, and the same for another process', async () => {
    const { id, key } = await open().create({ ...context, user: 'ann' });
    expect(await listed(store, { user: 'ann' })).toMatchObject([{ id, ...context, user: 'ann', provider: 'memory' }]);
    expect(hex(await open().key(id))).toBe(hex(key));
  });

  test.each(['provider', 'store'])('that the %s could not take is none', async (what) => {
    const keys = open();
    if (what === 'store') topic.failing = 'before';
    else {
      provider.onCall = () => {
        throw throttled();
      };
    }
    await expect(keys.create(context)).rejects.toMatchObject({ code: 'keys-unavailable' });
    topic.failing = undefined;
    expect(await listed(store)).toEqual([]);
  });
});

test('many are stored together, and asked for together', async () => {
  const maker = open();
  const puts = vi.spyOn(store, 'put');
  const gets = vi.spyOn(store, 'get');
  const made = await Promise.all(Array.from({ length: 40 }, () => maker.create(context)));
  expect(puts.mock.calls.map(([keys]) => keys.length)).toEqual([40]);
  const keys = open();
  const asked = await Promise.all(made.map(({ id }) => keys.key(id)));
  expect(asked.map(hex)).toEqual(made.map(({ key }) => hex(key)));
  expect(gets.mock.calls.map(([ids]) => ids.length)).toEqual([40]);
});

describe('a key', () => {
  test('is nothing but the key object: the bytes that it was made of are overwritten, whoever gave them', async () => {
    const given: Uint8Array[] = [];
    const noted = (bytes: Uint8Array): Uint8Array => given[given.push(bytes) - 1]!;
    const prng = { bytes: (count: number) => (count === DATA_KEY_BYTES ? noted : same)(systemPrng.bytes(count)) };
    const { id, key } = await open({ prng }).create(context);
    const unwrap = provider.unwrap.bind(provider);
    provider.unwrap = async (...of) => noted(await unwrap(...of));
    expect(hex(await open().key(id))).toBe(hex(key));
    expect(given.map((bytes) => bytes.every((byte) => byte === 0))).toEqual([true, true]);
  });

  test('is unwrapped once for those who ask at the same time, and then held', async () => {
    const { id, key } = await open().create(context);
    const keys = open();
    expect(keys.peek(id)).toBeUndefined();
    const asked = await Promise.all(Array.from({ length: 50 }, () => keys.key(id)));
    for (const one of asked) expect(hex(one)).toBe(hex(key));
    await keys.key(id);
    expect(hex(keys.peek(id))).toBe(hex(key));
    expect(provider.count('unwrap')).toBe(1);
  });

  test('that the store does not know is missing, and is not asked for again for a moment', async () => {
    const keys = open();
    const { id } = storedKey();
    const missing = {
      name: 'CorruptError',
      code: 'key-missing',
      message: expect.stringMatching(/the topic in memory.*Put a copy of it back/),
      details: { key: id },
    };
    await expect(keys.key(id)).rejects.toMatchObject(missing);
    const asked = topic.readCount;
    clock.jump(9);
    await expect(keys.key(id, context.workflow)).rejects.toMatchObject({
      ...missing,
      details: { key: id, workflow: context.workflow },
    });
    expect(topic.readCount).toBe(asked);
    clock.jump(1);
    await expect(keys.key(id)).rejects.toMatchObject(missing);
    expect(topic.readCount).toBeGreaterThan(asked);
  });

  test('that was lost with its store is missing until a copy is put back, and never destroyed (K3)', async () => {
    const { id, key } = await open().create(context);
    const copy = await listed(store);
    topic.lose();
    index.lose();
    const keys = open();
    await expect(keys.key(id)).rejects.toMatchObject({ code: 'key-missing' });
    await store.put(copy);
    clock.jump(10);
    expect(hex(await keys.key(id))).toBe(hex(key));
  });

  test('that the index has not seen yet is in the topic, and not missing', async () => {
    const { id, key } = await open().create(context);
    index.lose();
    expect(hex(await open().key(id))).toBe(hex(key));
  });

  test('of the wrong length is wrong', async () => {
    const { tenant, workflow } = context;
    const { id } = await open().create(context);
    const short = {
      ...storedKey({ id, workflow }),
      ...(await provider.wrap(new Uint8Array(16), { tenant, workflow })),
    };
    await store.put([short]);
    await expect(open().key(short.id)).rejects.toMatchObject({ name: 'CorruptError', code: 'key-wrong' });
  });
});

describe('limits', () => {
  test('the least recently used goes first', async () => {
    const keys = open({ maxCount: 3 });
    const [a, b, c] = [await keys.create(context), await keys.create(context), await keys.create(context)];
    keys.peek(a.id);
    await keys.key(b.id);
    const d = await keys.create(context);
    expect([a, b, c, d].map(({ id }) => keys.peek(id) !== undefined)).toEqual([true, true, false, true]);
    expect(hex(await keys.key(c.id))).toBe(hex(c.key));
    expect(provider.count('unwrap')).toBe(1);
  });

  test('one that is old is asked for again, and not peeked at', async () => {
    const keys = open();
    const { id, key } = await keys.create(context);
    clock.jump(99);
    expect(keys.peek(id)).toBeDefined();
    clock.jump(1);
    expect(keys.peek(id)).toBeUndefined();
    expect(hex(await keys.key(id))).toBe(hex(key));
    expect(provider.count('unwrap')).toBe(1);
  });

  test('use does not make it younger, and the time that the answer took counts', async () => {
    const { id } = await open().create(context);
    const keys = open();
    provider.onCall = () => {
      clock.jump(60);
    };
    await keys.key(id);
    provider.onCall = undefined;
    clock.jump(39);
    expect(keys.peek(id)).toBeDefined();
    clock.jump(1);
    expect(keys.peek(id)).toBeUndefined();
  });
});

describe('destroyed', () => {
  test('here, it is gone at once, and from the store', async () => {
    const keys = open();
    const [first, second] = [
      await keys.create(context),
      await keys.create({ ...context, workflow: workflowId('load') }),
    ];
    expect(await keys.destroy({ workflow: context.workflow })).toBe(1);
    expect([keys.peek(first.id), await keys.key(first.id)]).toEqual([undefined, null]);
    expect(hex(keys.peek(second.id))).toBe(hex(second.key));
    expect((await listed(store)).map(({ id }) => id)).toEqual([second.id]);
    expect(await keys.destroy({ workflow: context.workflow })).toBe(0);
  });

  test('by another process, it is used until the age limit and no longer', async () => {
    const keys = open();
    const { id } = await keys.create(context);
    await open().destroy({ tenant: context.tenant });
    clock.jump(99);
    expect(await keys.key(id)).toBeDefined();
    clock.jump(1);
    expect(keys.peek(id)).toBeUndefined();
    expect(await keys.key(id)).toBeNull();
  });

  test('while it is being unwrapped, it is not held afterwards', async () => {
    const { id } = await open().create(context);
    const keys = open();
    const { promise: unwrapping, resolve: unwrapNow } = Promise.withResolvers<void>();
    provider.onCall = () => unwrapping;
    const asked = keys.key(id);
    await vi.waitUntil(() => provider.count('unwrap') > 0, { interval: 0, timeout: 60_000 });
    await keys.destroy({ tenant: context.tenant });
    unwrapNow();
    await asked;
    expect(keys.peek(id)).toBeUndefined();
    expect(await keys.key(id)).toBeNull();
  });

  test('many, in several goes', async () => {
    const keys = open();
    await store.put(Array.from({ length: 1_200 }, () => storedKey({ user: 'ann' })));
    await store.put([storedKey({ user: 'bob' })]);
    expect(await keys.destroy({ user: 'ann' })).toBe(1_200);
    expect(await listed(store)).toHaveLength(1);
  });

  test('without saying whose, nothing is', async () => {
    const keys = open();
    await keys.create(context);
    await expect(keys.destroy({})).rejects.toBeInstanceOf(InvalidError);
    expect(await listed(store)).toHaveLength(1);
  });

  test('a failure of the store is told, and doing it again goes on', async () => {
    const keys = open();
    const { id } = await keys.create(context);
    topic.failing = 'after';
    await expect(keys.destroy({ tenant: context.tenant })).rejects.toMatchObject({ code: 'keys-unavailable' });
    topic.failing = undefined;
    await keys.destroy({ tenant: context.tenant });
    clock.jump(100);
    expect(await keys.key(id)).toBeNull();
  });
});

describe('clearing', () => {
  test('lets go of what is held, and the next who asks gets it anew', async () => {
    const keys = open();
    const { id, key } = await keys.create(context);
    keys.clear();
    expect(keys.peek(id)).toBeUndefined();
    expect(hex(await keys.key(id))).toBe(hex(key));
    expect(inspect(keys, { depth: null, showHidden: true })).not.toContain(spellings(key.export())[4]);
  });

  test('while one is being unwrapped, it is not held afterwards', async () => {
    const { id, key } = await open().create(context);
    const keys = open();
    const asked = keys.key(id);
    keys.clear();
    expect(hex(await asked)).toBe(hex(key));
    expect(keys.peek(id)).toBeUndefined();
  });
});

describe('faults of the provider', () => {
  test('pass through to all who asked, and are not remembered', async () => {
    const { id, key } = await open().create(context);
    const keys = open();
    const error = throttled();
    provider.onCall = () => {
      throw error;
    };
    const asked = await Promise.allSettled(Array.from({ length: 5 }, () => keys.key(id)));
    expect(asked.every((one) => one.status === 'rejected' && one.reason === error)).toBe(true);
    expect(provider.count('unwrap')).toBe(1);
    provider.onCall = undefined;
    expect(hex(await keys.key(id))).toBe(hex(key));
  });

  test('while the provider throttles, keys that are held go on until they are too old, and nothing is lost', async () => {
    const keys = open();
    const made = await keys.create(context);
    const other = await open().create({ ...context, workflow: workflowId('load') });
    provider.onCall = () => {
      throw throttled();
    };
    const isThrottled = { name: 'UnavailableError', code: 'keys-unavailable', details: { isThrottled: true } };
    for (clock.jump(50); clock.monotonicMs() < 100; clock.jump(10)) {
      expect(hex(await keys.key(made.id))).toBe(hex(made.key));
      await expect(keys.key(other.id)).rejects.toMatchObject(isThrottled);
      await expect(keys.create(context)).rejects.toMatchObject(isThrottled);
    }
    await expect(keys.key(made.id)).rejects.toMatchObject(isThrottled);
    provider.onCall = undefined;
    for (const { id, key } of [made, other]) expect(hex(await keys.key(id))).toBe(hex(key));
    expect((await listed(store)).map(({ id }) => id)).toEqual([made.id, other.id].toSorted());
  });

  test('a key that goes missing while work goes on fails what needs it, and nothing else', async () => {
    const keys = open();
    const held = await keys.create(context);
    const lost = await open().create(context);
    topic.lose();
    index.lose();
    await expect(keys.key(lost.id)).rejects.toMatchObject({ code: 'key-missing' });
    expect(hex(await keys.key(held.id))).toBe(hex(held.key));
    clock.jump(100);
    await expect(keys.key(held.id)).rejects.toMatchObject({ code: 'key-missing' });
    const later = await keys.create(context);
    expect(hex(await open().key(later.id))).toBe(hex(later.key));
  });

  test('a wrong key stays wrong, and others are not held up', async () => {
    const maker = open();
    const [bad, good] = [await maker.create(context), await maker.create(context)];
    provider.wrong.add((await store.get([bad.id])).get(bad.id)!.wrapped);
    const keys = open();
    const wrong = { name: 'CorruptError', code: 'key-wrong', details: { workflow: context.workflow } };
    await expect(keys.key(bad.id)).rejects.toMatchObject(wrong);
    await expect(keys.key(bad.id)).rejects.toMatchObject(wrong);
    expect(hex(await keys.key(good.id))).toBe(hex(good.key));
  });
});

describe('rotation', () => {
  const made = async (count: number) => {
    const keys = open();
    return Promise.all(Array.from({ length: count }, () => keys.create(context)));
  };

  test('wraps anew what another key wrapped, and the data keys stay the same', async () => {
    const before = await made(REWRAP_BATCH_COUNT * 2 + 30);
    provider.version = 2;
    await open().create(context);
    const progress = await open().rewrapAll({});
    expect(progress).toEqual({ seenCount: 231, rewrappedCount: 230, wrongCount: 0, wrongIds: [] });
    expect((await listed(store)).every(({ wrappedBy }) => wrappedBy === 'memory v2')).toBe(true);
    const keys = open();
    for (const { id, key } of before) expect(hex(await keys.key(id))).toBe(hex(key));
  });

  test('done again does nothing', async () => {
    await made(3);
    provider.version = 2;
    await open().rewrapAll({});
    provider.calls = [];
    expect(await open().rewrapAll({})).toMatchObject({ seenCount: 3, rewrappedCount: 0 });
    expect(provider.calls).toEqual(['current']);
  });

  test('keeps to the filter', async () => {
    await made(2);
    const other = await open().create({ ...context, tenant: tenantId('shipyard') });
    provider.version = 2;
    await open().rewrapAll({ tenant: tenantId('shipyard') });
    const anew = (await listed(store)).filter(({ wrappedBy }) => wrappedBy === 'memory v2');
    expect(anew.map(({ id }) => id)).toEqual([other.id]);
  });

  test('throttled half-way it throws, keeps what was done, and goes on when called again', async () => {
    await made(250);
    provider.version = 2;
    provider.calls = [];
    provider.onCall = () => {
      if (provider.calls.length > 320) throw throttled();
    };
    await expect(open().rewrapAll({})).rejects.toMatchObject({ code: 'keys-unavailable' });
    const done = (await listed(store)).filter(({ wrappedBy }) => wrappedBy === 'memory v2').length;
    expect(done).toBeGreaterThan(REWRAP_BATCH_COUNT);
    expect(done).toBeLessThan(250);
    provider.onCall = undefined;
    expect(await open().rewrapAll({})).toMatchObject({ seenCount: 250, rewrappedCount: 250 - done });
  });

  test('a key that cannot be unwrapped is named, stays as it is, and holds up no other', async () => {
    const before = await made(20);
    const bad = (await listed(store))[4]!;
    provider.wrong.add(bad.wrapped);
    provider.version = 2;
    expect(await open().rewrapAll({})).toEqual({
      seenCount: 20,
      rewrappedCount: 19,
      wrongCount: 1,
      wrongIds: [bad.id],
    });
    expect((await store.get([bad.id])).get(bad.id)).toEqual(bad);
    expect(before.some(({ id }) => id === bad.id)).toBe(true);
  });

  test('K1: a key that is destroyed meanwhile stays destroyed', async () => {
    const [first, second] = await made(2);
    provider.version = 2;
    let isFirst = true;
    provider.onCall = async () => {
      if (provider.count('unwrap') === 0 || !isFirst) return;
      isFirst = false;
      await store.destroy([first!.id]);
    };
    await open().rewrapAll({});
    expect((await listed(store)).map(({ id, wrappedBy }) => [id, wrappedBy])).toEqual([[second!.id, 'memory v2']]);
  });
});
