/**
 * The sealed view of a log: below it there is no plain payload, above it every record is as it was written, in the order of the calls
 * (L3), whatever keys take to be found; and what doesn't open is told with its place.
 */

import { decodeRecord, sealedWith } from '@tidemark/codec';
import { type Offset, type Partition, UnavailableError, type WorkflowId } from '@tidemark/core';
import type { KeyProvider, KeyStore, LogRecord, WrappedKey } from '@tidemark/ports';
import { MemoryKeyIndex, MemoryKeyTopic } from '@tidemark/testkit/contracts/memory-keys';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import { DataKeys, type DataKeysOptions } from './data-keys.ts';
import { inboxRecord } from './inbox.ts';
import { ProjectedKeyStore } from './projected-keys.ts';
import { SealedLog } from './sealed-log.ts';
import { P0, TENANT } from './simulated-definition.ts';
import { SimulatedClock } from './simulated-ports.ts';
import { systemPrng } from './system.ts';
import { WorkflowKeys } from './workflow-keys.ts';

const MAX_BYTES = 100_000;
let signalCount = 0;
const signal = (workflow: string, value: unknown): LogRecord =>
  inboxRecord(
    { recordMaxBytes: MAX_BYTES },
    {
      id: `signal:${++signalCount}` as never,
      tenant: TENANT,
      workflow: workflow as WorkflowId,
      generation: 1 as never,
      lamport: 1 as never,
      atMs: 1,
      type: 'SignalReceived',
      control: { name: 'go' },
    },
    { value } as never,
  );

/** Hides nothing: what it is for is to be away. */
class FakeProvider implements KeyProvider {
  readonly name = 'fake';
  wraps = 0;
  /** Called by every unwrapping. */
  onUnwrap: (() => void) | undefined;
  #failing = 0;

  failNext(count: number): void {
    this.#failing = count;
  }

  async current(): Promise<string> {
    return 'fake';
  }

  async wrap(key: Uint8Array): Promise<WrappedKey> {
    this.#enter();
    this.wraps++;
    return { provider: this.name, wrappedBy: 'fake', wrapped: Buffer.from(key).toString('base64') };
  }

  async unwrap({ wrapped }: WrappedKey): Promise<Uint8Array> {
    this.#enter();
    this.onUnwrap?.();
    return new Uint8Array(Buffer.from(wrapped, 'base64'));
  }

  #enter(): void {
    if (this.#failing-- > 0) throw new UnavailableError('keys-unavailable', 'The provider is away.');
  }

  async close(): Promise<void> {}
}

let inner: SimulatedLog;
let provider: FakeProvider;
let topic: MemoryKeyTopic;
let index: MemoryKeyIndex;
let store: KeyStore;
let data: DataKeys;
let log: SealedLog;
const clock = new SimulatedClock();

/** Another process on the same log and keys. */
function other(more: Partial<DataKeysOptions> = {}): SealedLog {
  data = new DataKeys({ provider, store, prng: systemPrng, clock, ...more });
  return new SealedLog(inner, new WorkflowKeys(data, store));
}

beforeEach(() => {
  inner = new SimulatedLog(2);
  provider = new FakeProvider();
  topic = new MemoryKeyTopic();
  index = new MemoryKeyIndex();
  store = new ProjectedKeyStore(topic, index);
  log = other();
});

const stored = (partition: Partition = P0): readonly Uint8Array[] =>
  inner.look([{ partition, from: 0 as Offset }])[0]!.records.map(({ value }) => value);
const readBy = async (view: SealedLog): Promise<readonly Buffer[]> => {
  const [result] = await view.read([{ partition: P0, from: 0 as Offset }]);
  return result!.records.map(({ value }) => Buffer.from(value));
};

describe('what is appended', () => {
  it('is sealed below, and as it was above, for every process with the keys', async () => {
    const records = [signal('w1', 'secret one'), signal('w2', 'secret two')];
    await log.append(P0, records);
    expect(stored().some((value) => Buffer.from(value).includes('secret'))).toBe(false);
    expect(new Set(stored().map(sealedWith)).size).toBe(2);
    expect(await readBy(log)).toEqual(records.map(({ value }) => Buffer.from(value)));
    expect(await readBy(other())).toEqual(records.map(({ value }) => Buffer.from(value)));
  });

  it('has one key for each workflow, also of processes that come later', async () => {
    await log.append(P0, [signal('w1', 1)]);
    await log.append(P0, [signal('w1', 2)]);
    await other().append(P0, [signal('w1', 3)]);
    expect(new Set(stored().map(sealedWith)).size).toBe(1);
  });

  it('that holds nothing, or is nobody’s, stays as it is', async () => {
    const fence: LogRecord = { value: Buffer.from('not ours'), type: 'x' };
    const empty = { ...signal('w1', 1), value: Buffer.from('{"v":1,"payload":"json"}\nnull') };
    await log.append(P0, [fence, empty]);
    expect(stored()).toEqual([fence.value, empty.value]);
    expect(provider.wraps).toBe(0);
  });

  it('lands in the order of the calls while keys are looked up', async () => {
    const appends = [signal('w1', 1), signal('w2', 2), signal('w1', 3), signal('w3', 4)].map((record) =>
      log.append(P0, [record]),
    );
    expect(await Promise.all(appends)).toEqual([0, 1, 2, 3]);
    const values = (await readBy(log)).map((value) => Buffer.from(value).toString().split('"value":')[1]);
    expect(values).toEqual(['1}', '2}', '3}', '4}']);
  });

  it('whose key can’t be had fails alone; what comes after it lands', async () => {
    await log.append(P0, [signal('w1', 1)]);
    provider.failNext(1);
    const [bad, good] = [log.append(P0, [signal('w2', 2)]), log.append(P0, [signal('w1', 3)])];
    await expect(bad).rejects.toMatchObject({ code: 'keys-unavailable' });
    expect(await good).toBe(1);
    expect(await log.append(P0, [signal('w2', 4)])).toBe(2);
  });

  it('and could not be sealed is refused, and nothing of its append is stored', async () => {
    await log.append(P0, [signal('w1', 1)]);
    const [first, owner] = [signal('w1', 2), signal('w1', 3).owner!];
    for (const value of ['{"v":9,"payload":"json"}\n{"value":"secret"}', '{"v":1,"payload":"json" }\n{}', 'secret']) {
      const odd: LogRecord = { value: Buffer.from(value), type: 'SignalReceived', owner };
      await expect(log.append(P0, [first, odd])).rejects.toMatchObject({ code: 'invariant-broken' });
    }
    expect(stored()).toHaveLength(1);
    // The controls: what is sealed already, and what is as it should be, go on.
    await log.append(P0, [{ value: stored()[0]!, type: 'SignalReceived', owner }, first]);
    expect(stored().every((value) => sealedWith(value) !== undefined)).toBe(true);
    expect(stored()).toHaveLength(3);
  });

  it('must leave room for the seal', () => {
    expect(log.recordMaxBytes).toBeLessThan(inner.recordMaxBytes);
    expect(inner.recordMaxBytes - log.recordMaxBytes).toBeLessThan(200);
  });
});

describe('what is read', () => {
  it('of a workflow whose keys were destroyed has an empty payload', async () => {
    await log.append(P0, [signal('w1', 'secret'), signal('w2', 'kept')]);
    await data.destroy({ workflow: 'w1' as WorkflowId });
    const [forgotten, kept] = await readBy(other());
    expect(decodeRecord(forgotten!)).toMatchObject({ kind: 'event', envelope: { workflow: 'w1' } });
    expect(forgotten!.toString()).toMatch(/\n\{\}$/);
    expect(kept!.toString()).toContain('kept');
  });

  it('is whole although the cache gives up keys while others are fetched', async () => {
    const records = ['w1', 'w2', 'w3'].map((workflow) => signal(workflow, `of ${workflow}`));
    await log.append(P0, records);
    // Room for one: each that is fetched drives out the one before, among them that which was at hand.
    const view = other({ maxCount: 1 });
    for (const _ of records) expect(await readBy(view)).toEqual(records.map(({ value }) => Buffer.from(value)));
    const young = other({ maxAgeMs: 100 });
    await young.append(P0, [signal('w1', 'again')]);
    provider.onUnwrap = () => clock.jump(1_000);
    expect((await readBy(young)).map(String).filter((text) => text.endsWith('\n{}'))).toEqual([]);
  });

  it('of keys that were lost with their store is missing, and not forgotten (K3)', async () => {
    await log.append(P0, [signal('w1', 'one')]);
    topic.lose();
    index.lose();
    const [id] = stored().map(sealedWith);
    await expect(readBy(other())).rejects.toMatchObject({
      name: 'CorruptError',
      code: 'key-missing',
      details: { key: id, workflow: 'w1', place: 'the topic in memory' },
    });
    expect(stored()).toHaveLength(1);
  });

  it('and was changed is told with its place, and the rest is not', async () => {
    await log.append(P0, [signal('w1', 'one'), signal('w1', 'two')]);
    const changed = Buffer.from(stored()[1]!);
    changed[changed.length - 1]! ^= 1;
    const broken = new SimulatedLog(1);
    broken.store(P0, [
      { value: stored()[0]!, type: 't' },
      { value: changed, type: 't' },
    ]);
    const view = new SealedLog(broken, new WorkflowKeys(data, store));
    await expect(view.read([{ partition: P0, from: 0 as Offset }])).rejects.toMatchObject({
      code: 'sealed-wrong',
      details: { partition: 0, offset: 1 },
    });
  });

  it('waits for a provider that is away, and comes once it is back', async () => {
    await log.append(P0, [signal('w1', 'one')]);
    const view = other();
    provider.failNext(1);
    await expect(readBy(view)).rejects.toMatchObject({ code: 'keys-unavailable' });
    expect((await readBy(view))[0]!.toString()).toContain('one');
  });
});
