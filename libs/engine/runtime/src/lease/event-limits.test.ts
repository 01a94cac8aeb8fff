/** How large events may be, with a place for large payloads and without; and that what belongs together is one append either way (L3). */

import { encodePayload, encodeRecord, recordBlob } from '@tidemark/codec';
import type { Envelope, Offset } from '@tidemark/core';
import type { LogRecord } from '@tidemark/ports';
import { definitionOf, P0 } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedClock, simulatedPorts } from '@tidemark/testkit/engine/simulated-ports';
import { heldRun } from '@tidemark/testkit/engine/simulated-run';
import { MemoryBlobs } from '@tidemark/testkit/memory-blobs';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import { BLOB_EVENT_MAX_BYTES, BlobEncoding } from '../views/blob-log.ts';
import { Blobs } from '../views/blobs.ts';
import { EncodedLog } from '../views/encoded-log.ts';
import { EVENT_MAX_BYTES } from '../views/limits.ts';
import { appendable, eventLimits, groupTogether } from './event-limits.ts';

const MB = 1_000_000;
const tooLarge = expect.objectContaining({ code: 'value-too-large' });

let inner: SimulatedLog;
let log: EncodedLog;
beforeEach(() => {
  inner = new SimulatedLog(1);
  const blobs = new Blobs(new MemoryBlobs());
  log = new EncodedLog(inner, new BlobEncoding({ blobs, clock: new SimulatedClock() }));
});

/** One step that leaves much and ends the workflow with much. */
const hungry = definitionOf({
  steps: { a: () => ({ belief: () => ({ seen: 'b'.repeat(5 * MB) }), done: { said: 'o'.repeat(3 * MB) } }) },
});

describe('a step that leaves and says much', () => {
  it('goes through where large payloads have a place: its checkpoint and its end are one append', async () => {
    const run = await heldRun(log, hungry, { ports: simulatedPorts(log) });
    await run.runner.run();
    expect(run.stream.confirmed.status).toBe('completed');
    const [held] = inner.poll([{ partition: P0, from: 0 as Offset }]);
    const sizes = held!.records.flatMap(({ value }) => recordBlob(value)?.bytes ?? []);
    expect(sizes.filter((bytes) => bytes > 3 * MB)).toHaveLength(2);
    expect(inner.appendCount).toBeLessThan(held!.records.length);
  });

  it('fails where they have none: the control', async () => {
    const run = await heldRun(inner, hungry, { ports: simulatedPorts(inner) });
    await run.runner.run();
    expect(run.stream.confirmed).toMatchObject({ status: 'failed', reason: 'value-too-large' });
  });

  it('fails when it is more than may be in a blob', async () => {
    const steps = { a: () => ({ done: { said: 'o'.repeat(BLOB_EVENT_MAX_BYTES) } }) };
    const run = await heldRun(log, definitionOf({ steps }), { ports: simulatedPorts(log) });
    await run.runner.run();
    expect(run.stream.confirmed).toMatchObject({ status: 'failed', reason: 'value-too-large' });
  });
});

const envelope = {
  v: 1,
  id: 'e1',
  tenant: 'acme',
  workflow: 'w1',
  generation: 1,
  lamport: 3,
  epoch: 2,
  holder: 'worker',
  ordinal: 4,
  atMs: 1,
  type: 'SignalReceived',
  control: { name: 'go' },
} as unknown as Envelope;

const staged = (payloadBytes: number, note = '') => {
  const payload = encodePayload('SignalReceived', { value: 'x'.repeat(payloadBytes) });
  const noted = { ...envelope, control: { ...envelope.control, note } } as unknown as Envelope;
  const record: LogRecord = { value: encodeRecord({ envelope: noted, payload }, 100 * MB), type: 'SignalReceived' };
  return { record, beginsGroup: true };
};

describe('limits', () => {
  it('of a log that keeps all of a record are its own, or those of events', () => {
    expect(eventLimits({ recordMaxBytes: 5_000 })).toMatchObject({ maxBytes: 5_000, appendMaxBytes: 5_000 });
    expect(eventLimits({ recordMaxBytes: 9 * MB })).toMatchObject({ maxBytes: EVENT_MAX_BYTES });
  });

  it('of a header are those of the log itself, wherever payloads are', () => {
    const { maxBytes, headMaxBytes, appendMaxBytes } = eventLimits(log);
    expect([maxBytes, appendMaxBytes < EVENT_MAX_BYTES]).toEqual([BLOB_EVENT_MAX_BYTES, true]);
    const noted = { ...envelope, control: { ...envelope.control, note: 'n'.repeat(EVENT_MAX_BYTES) } };
    const event = { envelope: noted as unknown as Envelope, payload: encodePayload('SignalReceived', { value: 1 }) };
    expect(() => encodeRecord(event, maxBytes, headMaxBytes)).toThrow(tooLarge);
  });

  it('of a group: all of it, and what of it must be in the log itself', () => {
    const limits = { maxBytes: 10_000, headMaxBytes: 900, appendMaxBytes: 1_000 };
    const group = [staged(4_000), staged(4_000)];
    groupTogether(group, limits, 'w1');
    expect(group.map(({ beginsGroup }) => beginsGroup)).toEqual([true, false]);
    expect(() => groupTogether([staged(6_000), staged(6_000)], limits, 'w1')).toThrow(tooLarge);
    expect(() => groupTogether([staged(1, 'n'.repeat(400)), staged(1, 'n'.repeat(400))], limits, 'w1')).toThrow(
      tooLarge,
    );
  });

  it('of an append: groups stay whole, and others share it as long as they fit', () => {
    const [a, b, c, d, e] = [staged(100), staged(100), staged(3_000), staged(3_000), staged(100)];
    groupTogether([c, d], { maxBytes: 10_000, headMaxBytes: 900, appendMaxBytes: 1_000 }, 'w1');
    expect(appendable([a, b, c, d, e], 1_000)).toEqual([[a, b], [c, d], [e]]);
  });
});
