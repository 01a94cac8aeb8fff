/**
 * The view with large payloads in blobs: below it no record is larger than allowed, above it every record is as it was written, byte for
 * byte, in the order of the calls (L3), and no reference is in the log whose blob isn't stored (B1).
 */

import { decodePayload, decodeRecord, recordBlob } from '@tidemark/codec';
import { emptyPartition, foldEntries, type Offset, type Partition, type WorkflowId } from '@tidemark/core';
import { BLOB_REFERENCE_MAX_BYTES, type KeyStore, type LogRecord } from '@tidemark/ports';
import { MemoryKeyIndex, MemoryKeyTopic } from '@tidemark/testkit/contracts/memory-keys';
import { P0, TENANT } from '@tidemark/testkit/engine/simulated-definition';
import { quiet, SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { MemoryBlobs } from '@tidemark/testkit/memory-blobs';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { DataKeys } from '../encryption/data-keys.ts';
import { ProjectedKeyStore } from '../encryption/projected-keys.ts';
import { SealedRecords } from '../encryption/sealed-log.ts';
import { WorkflowKeys } from '../encryption/workflow-keys.ts';
import { systemPrng } from '../kernel/system.ts';
import { inboxRecord } from '../lease/inbox.ts';
import { BlobEncoding } from './blob-log.ts';
import { Blobs } from './blobs.ts';
import { EncodedLog } from './encoded-log.ts';

const INLINE_BYTES = 2_000;
const LARGE = 'x'.repeat(10_000);
const START = 0 as Offset;
const W1 = 'w1' as WorkflowId;

let inner: SimulatedLog;
let live: MemoryBlobs;
let clock: SimulatedClock;
let blobs: Blobs;
let log: EncodedLog;
let signalCount: number;

/** Another process on the same log and blobs. */
function other(): EncodedLog {
  blobs = new Blobs(live);
  return new EncodedLog(inner, new BlobEncoding({ blobs, clock, inlineMaxBytes: INLINE_BYTES }));
}

beforeEach(() => {
  inner = new SimulatedLog(3);
  live = new MemoryBlobs();
  clock = new SimulatedClock();
  signalCount = 0;
  log = other();
});

const signal = (value: unknown, workflow = 'w1'): LogRecord =>
  inboxRecord(
    { recordMaxBytes: 100_000_000, inlineMaxBytes: 100_000_000 },
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

const digests = (): string[] => live.names().map((name) => name.split('/')[1]!);

const stored = (partition: Partition = P0): readonly Uint8Array[] =>
  inner.poll([{ partition, from: START }])[0]!.records.map(({ value }) => value);
const readBy = async (view: EncodedLog, partition: Partition = P0): Promise<readonly Buffer[]> => {
  const [result] = await view.read([{ partition, from: START }]);
  return result!.records.map(({ value }) => Buffer.from(value));
};
const valuesOf = (records: readonly LogRecord[]): readonly Buffer[] => records.map(({ value }) => Buffer.from(value));

describe('what is appended', () => {
  it('and is large leaves its name in the log, and is read as it was', async () => {
    const records = [signal('small'), signal(LARGE)];
    for (const record of records) await log.append(P0, [record]);
    expect(stored().map(({ length }) => length <= INLINE_BYTES)).toEqual([true, true]);
    expect(stored().map(recordBlob)).toEqual([
      undefined,
      { workflow: W1, digest: digests()[0], bytes: 12 + LARGE.length },
    ]);
    expect(await readBy(log)).toEqual(valuesOf(records));
    expect(await readBy(other())).toEqual(valuesOf(records));
  });

  it('twice is stored once for a workflow, and again for another (B2)', async () => {
    await log.append(P0, [signal(LARGE)]);
    await other().append(P0, [signal(LARGE)]);
    const [digest] = digests();
    expect(live.names()).toEqual([`w1/${digest}`]);
    await log.append(P0, [signal(LARGE, 'w2')]);
    expect(live.names()).toEqual([`w1/${digest}`, `w2/${digest}`]);
  });

  it('goes through byte for byte, whatever it is, and never is too much for the log', async () => {
    // A few bytes, repeated: long ones would take long to draw, and to print.
    const payload = fc.record({
      bytes: fc.uint8Array({ minLength: 1, maxLength: 7 }),
      length: fc.oneof(fc.nat(300), fc.integer({ min: 1_300, max: 9_000 })),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(payload, { minLength: 1, maxLength: 4 }), async (payloads) => {
        const fresh = new SimulatedLog(1);
        const view = new EncodedLog(fresh, new BlobEncoding({ blobs, clock, inlineMaxBytes: INLINE_BYTES }));
        const records = payloads.map(({ bytes, length }) => {
          const { value, ...record } = signal(1);
          const header = value.subarray(0, value.indexOf(0x0a) + 1);
          return { ...record, value: Buffer.concat([header, Buffer.alloc(length, bytes)]) };
        });
        await view.append(P0, records);
        const [held] = fresh.poll([{ partition: P0, from: START }]);
        expect(held!.records.reduce((sum, { value }) => sum + value.length, 0)).toBeLessThanOrEqual(INLINE_BYTES);
        expect(await readBy(view)).toEqual(valuesOf(records));
      }),
      { numRuns: 60 },
    );
  });

  it('together stays together: the largest go into blobs, until the others fit', async () => {
    const records = [signal('a'.repeat(900)), signal('b'.repeat(1_200)), signal('c'.repeat(300))];
    expect(await log.append(P0, records)).toBe(0);
    expect(inner.appendCount).toBe(1);
    expect(stored().map((value) => recordBlob(value) !== undefined)).toEqual([false, true, false]);
    expect(await readBy(log)).toEqual(valuesOf(records));
  });

  it('lands in the order of the calls while blobs are put', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    live.onCall = async (operation) => {
      if (operation === 'put') await promise;
    };
    const appends = [signal(1), signal(LARGE), signal(2), signal('y'.repeat(5_000)), signal(3)].map((record) =>
      log.append(P0, [record]),
    );
    const elsewhere = log.append(1 as Partition, [signal(4)]);
    expect(await elsewhere).toBe(0);
    expect(stored()).toHaveLength(1);
    resolve();
    expect(await Promise.all(appends)).toEqual([0, 1, 2, 3, 4]);
    const reported = (await readBy(log)).map((value) => value.toString().split('"value":')[1]!.slice(0, 3));
    expect(reported).toEqual(['1}', '"xx', '2}', '"yy', '3}']);
  });

  it('waits for blobs that are away, and nothing of its partition comes before it', async () => {
    live.fail(3, 'put');
    const [large, small] = [log.append(P0, [signal(LARGE)]), log.append(P0, [signal(1)])];
    await quiet();
    expect(stored()).toEqual([]);
    await clock.run(1_000);
    expect([await large, await small]).toEqual([0, 1]);
    expect(live.calls.put).toBe(4);
  });

  it('is given up when its caller does, or when the process ends; what comes after it lands', async () => {
    live.fail(Number.POSITIVE_INFINITY, 'put');
    const given = new AbortController();
    const large = log.append(P0, [signal(LARGE)], { signal: given.signal });
    const small = log.append(P0, [signal(1)]);
    await quiet();
    given.abort();
    await expect(large).rejects.toMatchObject({ code: 'blobs-unavailable' });
    expect(await small).toBe(0);
    const last = log.append(P0, [signal(LARGE)]);
    await quiet();
    await blobs.close();
    await expect(last).rejects.toMatchObject({ code: 'blobs-unavailable' });
    expect(stored()).toHaveLength(1);
  });

  it('above the limit is refused, and nothing of it is stored', async () => {
    const tooLarge = { ...signal(1), value: new Uint8Array(log.recordMaxBytes + 1) };
    await expect(log.append(P0, [tooLarge, signal(LARGE)])).rejects.toMatchObject({ code: 'record-too-large' });
    expect([stored(), digests()]).toEqual([[], []]);
  });

  it('and is no event of ours goes to the log as it is, which may refuse it', async () => {
    const foreign = { value: new Uint8Array(5_000).fill(7), type: 'x' };
    await log.append(P0, [foreign]);
    expect(stored()).toEqual([foreign.value]);
    const large = { value: new Uint8Array(inner.recordMaxBytes + 1), type: 'x' };
    await expect(log.append(P0, [large])).rejects.toMatchObject({ code: 'record-too-large' });
  });
});

describe('what is read', () => {
  it.each([
    ['blob-missing', (digest: string) => live.lose(W1, digest)],
    ['blob-damaged', (digest: string) => live.damage(W1, digest)],
  ])(
    'and can’t be had is handed up with its problem, as it is stored, and the others are read: %s',
    async (problem, harm) => {
      await log.append(P0, [signal(1)]);
      await log.append(P0, [signal(LARGE)]);
      const [digest] = digests();
      harm(digest!);
      const [result] = await other().read([{ partition: P0, from: START }]);
      const [first, second] = result!.records;
      expect([first, second]).toMatchObject([{ offset: 0 }, { offset: 1, problem }]);
      expect(first).not.toHaveProperty('problem');
      expect(Buffer.from(second!.value).toString()).toContain(digest);
      await live.put(W1, Buffer.from(`{"value":"${LARGE}"}`));
      expect(await readBy(other())).toHaveLength(2);
    },
  );

  it('needs no blob of what nobody wants', async () => {
    for (const value of [LARGE, 1]) await log.append(P0, [signal(value)]);
    live.lose(W1, digests()[0]!);
    const wanted = new Set([1 as Offset]);
    const [result] = await other().read([{ partition: P0, from: START, wanted }]);
    expect(result!.records).toEqual([{ offset: 1, value: expect.anything() }]);
  });

  it('waits for blobs that are away, and comes once they are back', async () => {
    await log.append(P0, [signal(LARGE)]);
    live.fail(1, 'get');
    await expect(readBy(other())).rejects.toMatchObject({ code: 'blobs-unavailable' });
    expect(await readBy(other())).toHaveLength(1);
  });

  it('is read from its own workflow’s alone: whoever names another’s has none (B2)', async () => {
    await log.append(P0, [signal(LARGE, 'theirs')]);
    const [named] = stored();
    const forged = Buffer.from(named!).toString().replace('"theirs"', '"w1"');
    inner.store(P0, [{ value: Buffer.from(forged), type: 'SignalReceived' }]);
    const [result] = await other().read([{ partition: P0, from: START }]);
    expect(result!.records.map(({ problem }) => problem)).toEqual([undefined, 'blob-missing']);
  });

  it('is no more than was asked for, but for the first; and every partition has its turn', async () => {
    const partitions = [0, 1, 2] as Partition[];
    for (const partition of partitions) for (let at = 0; at < 2; at++) await log.append(partition, [signal(LARGE)]);
    const view = other();
    const requests = partitions.map((partition) => ({ partition, from: START }));
    const counts = async (maxBytes: number): Promise<readonly number[]> =>
      (await view.read(requests, { maxBytes })).map(({ records, end }) => {
        expect(end).toBe(2);
        return records.length;
      });
    expect([await counts(1), await counts(1), await counts(1)]).toEqual([
      [1, 0, 0],
      [0, 1, 0],
      [0, 0, 1],
    ]);
    expect(await counts(25_000)).toEqual([2, 0, 0]);
    expect(await counts(1_000_000)).toEqual([2, 2, 2]);
  });

  it('without blobs folds all the same, and says what is missing where the payload is wanted', async () => {
    await log.append(P0, [signal(LARGE)]);
    const [whole, short] = [decodeRecord((await readBy(log))[0]!), decodeRecord(stored()[0]!)];
    const fold = (entry: typeof whole) => foldEntries(emptyPartition(P0, START), [entry]).state.next;
    expect(fold(short)).toBe(fold(whole));
    const { payload } = short as { payload: Uint8Array };
    expect(payload.length).toBeLessThanOrEqual(BLOB_REFERENCE_MAX_BYTES);
    expect(() => decodePayload('SignalReceived', payload)).toThrow(
      expect.objectContaining({ code: 'history-in-blobs' }),
    );
  });
});

it('under the sealed view keeps sealed bytes alone', async () => {
  const provider = {
    name: 'fake',
    current: async () => 'fake',
    wrap: async (key: Uint8Array) => ({
      provider: 'fake',
      wrappedBy: 'fake',
      wrapped: Buffer.from(key).toString('base64'),
    }),
    unwrap: async ({ wrapped }: { wrapped: string }) => new Uint8Array(Buffer.from(wrapped, 'base64')),
    close: async () => {},
  };
  const store: KeyStore = new ProjectedKeyStore(new MemoryKeyTopic(), new MemoryKeyIndex());
  const sealed = new EncodedLog(
    inner,
    new SealedRecords(new WorkflowKeys(new DataKeys({ provider, store, prng: systemPrng, clock }), store)),
    new BlobEncoding({ blobs, clock, inlineMaxBytes: INLINE_BYTES }),
  );
  const noise = Buffer.from(systemPrng.bytes(6_000)).toString('hex');
  const records = [signal(`secret ${noise}`), signal('secret')];
  for (const record of records) await sealed.append(P0, [record]);
  expect(stored().map((value) => recordBlob(value) !== undefined)).toEqual([true, false]);
  const held = await live.get(W1, digests()[0]!);
  for (const bytes of [held, ...stored()]) expect(Buffer.from(bytes).includes('secret')).toBe(false);
  expect(await readBy(sealed)).toEqual(valuesOf(records));
  expect(sealed.recordMaxBytes).toBeLessThan(log.recordMaxBytes);
  expect(sealed.inlineMaxBytes!).toBeLessThan(log.inlineMaxBytes!);
});
