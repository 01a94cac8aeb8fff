/**
 * The sealed view of a log: below it there is no plain payload; above it every record is as it was written, in the order of the calls (L3),
 * however long a key takes to be found. A record that does not open is returned with its problem.
 */

import { decodeRecord, entryOf, sealedWith } from '@tidemark/codec';
import { type Offset, type Partition, UnavailableError, type WorkflowId } from '@tidemark/core';
import type { KeyStore, LogRecord } from '@tidemark/ports';
import { MemoryKeyIndex, MemoryKeyProvider, MemoryKeyTopic } from '@tidemark/testkit/contracts/memory-keys';
import { P0, TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import { systemPrng } from '../kernel/system.ts';
import { inboxRecord } from '../lease/inbox.ts';
import { EncodedLog } from '../views/encoded-log.ts';
import { DataKeys, type DataKeysOptions } from './data-keys.ts';
import { ProjectedKeyStore } from './projected-keys.ts';
import { OPENED_READ_RATIO, PLAIN_REFUSED, SealedRecords, type SealingOptions } from './sealed-log.ts';
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

/** The next so many unwrappings and wrappings fail. */
function failNext(count: number): void {
  let left = count;
  provider.onCall = () => {
    if (left-- > 0) throw new UnavailableError('keys-unavailable', 'The provider is away.');
  };
}

let inner: SimulatedLog;
let provider: MemoryKeyProvider;
let topic: MemoryKeyTopic;
let index: MemoryKeyIndex;
let store: KeyStore;
let data: DataKeys;
let log: EncodedLog;
const clock = new SimulatedClock();

/** Another process on the same log and keys. */
function other(more: Partial<DataKeysOptions> = {}): EncodedLog {
  data = new DataKeys({ provider, store, prng: systemPrng, clock, ...more });
  return new EncodedLog(inner, new SealedRecords(new WorkflowKeys(data, store)));
}

beforeEach(() => {
  inner = new SimulatedLog(2);
  provider = new MemoryKeyProvider();
  topic = new MemoryKeyTopic();
  index = new MemoryKeyIndex();
  store = new ProjectedKeyStore(topic, index);
  log = other();
});

const stored = (partition: Partition = P0): readonly Uint8Array[] =>
  inner.poll([{ partition, from: 0 as Offset }])[0]!.records.map(({ value }) => value);
const readBy = async (view: EncodedLog): Promise<readonly Buffer[]> => {
  const [result] = await view.read([{ partition: P0, from: 0 as Offset }]);
  return result!.records.map(({ value }) => Buffer.from(value));
};

const recordsBy = async (view: EncodedLog) => (await view.read([{ partition: P0, from: 0 as Offset }]))[0]!.records;
/** The same keys over a log with these records. */
function viewOf(values: readonly Uint8Array[], options?: SealingOptions): EncodedLog {
  const log = new SimulatedLog(1);
  log.store(
    P0,
    values.map((value) => ({ value, type: 't' })),
  );
  return new EncodedLog(log, new SealedRecords(new WorkflowKeys(data, store), options));
}

const openingOf = (workflow: string): Uint8Array => {
  const control = `{"definition":"d","version":1,"rules":1,"partition":0,"placement":"shared","inputDigest":"${'ab'.repeat(32)}","tasks":[],"pinned":false,"shadow":false,"compensates":null}`;
  const inbox = '"lamport":1,"epoch":0,"holder":"","ordinal":0,"atMs":1';
  const header = `{"v":1,"id":"o:${workflow}","tenant":"${TENANT}","workflow":"${workflow}","generation":1,${inbox},"type":"WorkflowOpened","control":${control},"payload":"json"}`;
  return Buffer.from(`${header}\n{"input":1,"belief":{},"tasks":[]}`);
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
    expect(provider.count('wrap')).toBe(0);
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
    failNext(1);
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
    // The controls: what is already sealed, and what is right, is accepted.
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

  it('needs no key of what nobody wants', async () => {
    await log.append(P0, [signal('w1', 'one'), signal('w2', 'two'), signal('w1', 'three')]);
    const view = other();
    let keys = 0;
    provider.onCall = () => {
      keys++;
    };
    const wanted = new Set([0, 2] as Offset[]);
    const [result] = await view.read([{ partition: P0, from: 0 as Offset, to: 3 as Offset, wanted }]);
    expect(result!.records.map(({ offset, isOpened }) => [offset, isOpened])).toEqual([
      [0, true],
      [2, true],
    ]);
    expect(keys).toBe(1);
  });

  it('is whole although the cache gives up keys while others are fetched', async () => {
    const records = ['w1', 'w2', 'w3'].map((workflow) => signal(workflow, `of ${workflow}`));
    await log.append(P0, records);
    // Room for one: each fetched key drops the one before, including the cached one.
    const view = other({ maxCount: 1 });
    for (const _ of records) expect(await readBy(view)).toEqual(records.map(({ value }) => Buffer.from(value)));
    const young = other({ maxAgeMs: 100 });
    await young.append(P0, [signal('w1', 'again')]);
    provider.onCall = () => clock.jump(1_000);
    expect((await readBy(young)).map(String).filter((text) => text.endsWith('\n{}'))).toEqual([]);
  });

  it('of keys that were lost with their store is missing, and not forgotten (K3)', async () => {
    await log.append(P0, [signal('w1', 'one')]);
    topic.lose();
    index.lose();
    expect(await recordsBy(other())).toEqual([{ offset: 0, value: stored()[0], problem: 'key-missing' }]);
  });

  it('and was changed is told with its problem, as it is stored, and the rest is read', async () => {
    await log.append(P0, [signal('w1', 'one'), signal('w1', 'two')]);
    const changed = Buffer.from(stored()[1]!);
    changed[changed.length - 1]! ^= 1;
    const view = viewOf([stored()[0]!, changed]);
    expect(await recordsBy(view)).toEqual([
      { offset: 0, value: expect.anything(), isOpened: true },
      { offset: 1, value: changed, problem: 'sealed-wrong' },
    ]);
  });

  it('is explained as forgotten by a destroyed key of its own workflow, and by nobody else’s', async () => {
    await log.append(P0, [signal('w1', 'kept'), signal('w2', 'forgotten')]);
    const [mine, gone] = stored().map((value) => sealedWith(value)!) as [string, string];
    await data.destroy({ workflow: 'w2' as WorkflowId });
    const forged = Buffer.from(Buffer.from(stored()[0]!).toString('latin1').replace(mine, gone), 'latin1');
    const view = viewOf([forged, stored()[1]!]);
    expect(await recordsBy(view)).toEqual([
      { offset: 0, value: forged, problem: 'sealed-wrong' },
      { offset: 1, value: expect.anything(), isForgotten: true },
    ]);
  });

  it('and is plain says so to whoever folds it; a plain opening is refused where that is the rule', async () => {
    const opening = (workflow: string) => ({ ...signal(workflow, 'x').owner!, value: openingOf(workflow) });
    const plain = [opening('old').value, signal('old', 'said').value, opening('new').value];
    const records = await recordsBy(viewOf(plain));
    expect(records.map(({ problem }) => problem)).toEqual([undefined, undefined, undefined]);
    expect(records.map((record) => entryOf(record))).toMatchObject(plain.map(() => ({ seal: 'plain' })));
    const strict = viewOf(plain, { refusesPlain: true });
    expect((await recordsBy(strict)).map(({ problem }) => problem)).toEqual([PLAIN_REFUSED, undefined, PLAIN_REFUSED]);
    // An empty opening is an opening all the same.
    const empty = Buffer.from(Buffer.from(plain[0]!).toString().replace(/\n.*$/, '\nnull'));
    expect(await recordsBy(viewOf([empty], { refusesPlain: true }))).toMatchObject([{ problem: PLAIN_REFUSED }]);
    const keys = new WorkflowKeys(data, store);
    const old = { tenant: TENANT, workflow: 'old' as WorkflowId, user: null };
    // A key that the workflow has for another reason accepts nothing.
    await keys.find(old);
    await keys.find({ ...old, workflow: 'new' as WorkflowId });
    expect((await recordsBy(strict)).map(({ problem }) => problem)).toEqual([PLAIN_REFUSED, undefined, PLAIN_REFUSED]);
    expect([await keys.takePlain(old), await keys.takePlain(old)]).toEqual([true, false]);
    expect((await recordsBy(strict)).map(({ problem }) => problem)).toEqual([undefined, undefined, PLAIN_REFUSED]);
  });

  it('waits for a provider that is away, and comes once it is back', async () => {
    await log.append(P0, [signal('w1', 'one')]);
    const view = other();
    failNext(1);
    await expect(readBy(view)).rejects.toMatchObject({ code: 'keys-unavailable' });
    expect((await readBy(view))[0]!.toString()).toContain('one');
  });
});

it('what a few sealed bytes unpack to counts, and no record is missed', async () => {
  const value = 'a'.repeat(90_000);
  const owner = { tenant: TENANT, workflow: 'w' as WorkflowId, user: null };
  for (let count = 0; count < 20; count++) await log.append(P0, [{ ...signal('w', value), owner }]);
  const sizes: number[] = [];
  for (let from = 0; from < 20; ) {
    const [result] = await log.read([{ partition: P0, from: from as Offset }], { maxBytes: 100_000 });
    sizes.push(result!.records.reduce((sum, record) => sum + record.value.length, 0));
    expect(result!.records[0]!.offset).toBe(from);
    from += result!.records.length;
  }
  expect(Math.max(...sizes)).toBeLessThan(100_000 * OPENED_READ_RATIO + MAX_BYTES);
  expect(sizes.length).toBeGreaterThan(1);
});
