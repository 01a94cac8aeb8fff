import { decodeRecord, encodePayload, encodeRecord } from '@tidemark/codec';
import {
  type Envelope,
  type EventEntry,
  type EventId,
  emptyPartition,
  foldEntry,
  NO_HOLDER,
  type Offset,
  type Partition,
  type PartitionState,
  type StreamState,
  type TaskId,
  type WorkflowId,
  ZERO,
} from '@tidemark/core';
import { noTelemetry } from '@tidemark/ports';
import { createMemoryHints } from '@tidemark/queue-memory';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { beforeEach, describe, expect, it } from 'vitest';
import { LamportClock } from '../kernel/ports.ts';
import { systemClock, systemPrng } from '../kernel/system.ts';
import type { Draft } from './draft.ts';
import { LeasedStream } from './leased-stream.ts';

const P = 0 as Partition;
const W = 'w1' as WorkflowId;
const DIGEST = 'a'.repeat(64);
const MAX_BYTES = 1_048_576;

function inboxRecord(type: Envelope['type'], id: string, control: unknown, payload: unknown): Uint8Array {
  const envelope = {
    v: 1,
    id: id as EventId,
    tenant: 't',
    workflow: W,
    generation: 1,
    lamport: 1,
    epoch: ZERO.epoch,
    holder: NO_HOLDER,
    ordinal: ZERO.ordinal,
    atMs: 1_000,
    type,
    control,
  } as unknown as Envelope;
  return encodeRecord({ envelope, payload: encodePayload(type, payload as never) }, MAX_BYTES);
}

const opening = (): Uint8Array =>
  inboxRecord(
    'WorkflowOpened',
    'open',
    {
      definition: 'd',
      version: 1,
      rules: 1,
      partition: P,
      placement: 'exclusive',
      pinned: false,
      shadow: false,
      compensates: null,

      inputDigest: DIGEST,
      tasks: [
        { step: 'a', after: [], when: [] },
        { step: 'b', after: [], when: [] },
      ],
    },
    { input: null, belief: {}, tasks: [null, null] },
  );

const signal = (id: string): Uint8Array => inboxRecord('SignalReceived', id, { name: 's' }, { value: 1 });
const revoke = (epoch: number, holder: string): Uint8Array =>
  inboxRecord('LeaseRevoked', `revoke:${epoch}`, { epoch, holder, reason: 'holder-dead' }, null);

const claim: Draft = { type: 'LeaseClaimed', control: {}, payload: null };

function commit(stream: LeasedStream, task: string): Draft {
  const { head } = stream.speculative;
  const sequence = head.sequence + 1;
  return {
    type: 'CheckpointCommitted',
    control: {
      checkpoint: `c${sequence}`,
      sequence,
      parent: head.checkpoint,
      task: task as TaskId,
      step: 'a',
      stepVersion: 1,
      inputDigest: DIGEST,
      tasks: [],
      belief: 'none',
      tokens: 0,
      costMicros: 0,
      lastAction: '',
      supersedes: null,
    },
    payload: { output: null, tasks: [] },
  } as unknown as Draft;
}

/** Folds the whole log as any other reader would. */
async function foldLog(log: SimulatedLog): Promise<PartitionState> {
  const [result] = await log.read([{ partition: P, from: 0 as Offset }]);
  let state = emptyPartition(P, 0 as Offset);
  for (const record of result!.records) state = foldEntry(state, decodeRecord(record.value)).state;
  return state;
}

describe('a held stream', () => {
  let log: SimulatedLog;
  let opened: StreamState;
  const foreign: EventEntry[] = [];

  const hold = (holder: string, state = opened, next = 1, clock = systemClock): LeasedStream =>
    new LeasedStream(state, next as Offset, {
      ports: { log, clock, prng: systemPrng, hints: createMemoryHints(), telemetry: noTelemetry },
      lamport: new LamportClock(),
      partition: P,
      holder: holder as never,
      onForeign: (entry) => foreign.push(entry),
    });

  const write = async (stream: LeasedStream, ...drafts: Draft[]): Promise<void> => {
    const accepted = stream.stage(drafts);
    stream.flush();
    await accepted;
  };

  beforeEach(async () => {
    log = new SimulatedLog(1);
    foreign.length = 0;
    await log.append(P, [{ value: opening(), type: 'WorkflowOpened' }]);
    opened = (await foldLog(log)).streams.get(W)!;
    log.readCount = 0;
  });

  it('has looked at the log with each append as with each read, so that nobody need look for it', async () => {
    let nowMs = 1_000;
    const clock = { ...systemClock, nowMs: () => systemClock.nowMs(), monotonicMs: () => nowMs };
    const stream = hold('h1', opened, 1, clock);
    const polledMs: number[] = [stream.polledMs];
    const looked = async (work: () => Promise<unknown>): Promise<void> => {
      nowMs = (polledMs.length + 1) * 1_000;
      await work();
      polledMs.push(stream.polledMs);
    };
    await looked(() => write(stream, claim));
    await looked(async () => {});
    await looked(() => stream.catchUp());
    // What comes while the answer is on its way isn't seen.
    const append = log.append.bind(log);
    log.append = async (...args) => {
      const base = await append(...args);
      nowMs += 500;
      return base;
    };
    await looked(() => write(stream, commit(stream, '0.0')));
    expect(polledMs).toEqual([1_000, 2_000, 2_000, 4_000, 5_000]);
  });

  it('knows without a read that an append was accepted when its offset is the next', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    await write(stream, commit(stream, '0.0'));
    expect(log.readCount).toBe(0);
    expect(stream.confirmed.head.sequence).toBe(1);
    expect((await foldLog(log)).streams.get(W)).toEqual(stream.confirmed);
  });

  it('folds the gap that a signal made, and goes on', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    log.interpose([signal('s1'), signal('s2')]);
    await write(stream, commit(stream, '0.0'));
    expect(foreign.map((entry) => entry.envelope.id)).toEqual(['s1', 's2']);
    expect(stream.confirmed.signals).toHaveLength(2);
    await write(stream, commit(stream, '0.1'));
    expect((await foldLog(log)).streams.get(W)).toEqual(stream.confirmed);
  });

  it('waits for a replica that does not show yet what was acknowledged', async () => {
    const stream = hold('h1', opened, 1, { ...systemClock, sleep: async () => {} });
    await write(stream, claim);
    log.interpose([signal('s1')]);
    const read = log.read.bind(log);
    let emptyCount = 2;
    log.read = async (requests) => (emptyCount-- > 0 ? [] : read(requests));
    await write(stream, commit(stream, '0.0'));
    expect(stream.confirmed.signals).toHaveLength(1);
  });

  it('stamps no checkpoint before its parent, whatever the clock says', async () => {
    let nowMs = 5_000;
    const stream = hold('h1', opened, 1, { ...systemClock, nowMs: () => nowMs });
    await write(stream, claim);
    await write(stream, commit(stream, '0.0'));
    nowMs = 4_000;
    await write(stream, commit(stream, '0.1'));
    expect(stream.confirmed.head).toMatchObject({ sequence: 2, atMs: 5_000 });
  });

  it('keeps staged events that follow a gap', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    const release = log.hold();
    const first = stream.stage([commit(stream, '0.0')]);
    stream.flush();
    log.interpose([signal('s1')]);
    const second = stream.stage([commit(stream, '0.1')]);
    stream.flush();
    release();
    await Promise.all([first, second]);
    expect(stream.confirmed.head.sequence).toBe(2);
    expect(stream.speculative).toBe(stream.confirmed);
    expect((await foldLog(log)).streams.get(W)).toEqual(stream.confirmed);
  });

  it('takes a batch that was stored twice once', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    log.copyNext();
    await write(stream, commit(stream, '0.0'));
    await write(stream, commit(stream, '0.1'));
    expect(stream.confirmed.head.sequence).toBe(2);
    expect((await foldLog(log)).streams.get(W)).toEqual(stream.confirmed);
  });

  it('takes a claim that was stored twice once', async () => {
    const stream = hold('h1');
    log.copyNext();
    await write(stream, claim);
    expect(stream.confirmed.lease).toMatchObject({ epoch: 1, holder: 'h1' });
  });

  it('loses the claim to whoever was first in offset order', async () => {
    const first = hold('h1');
    const second = hold('h2');
    await write(first, claim);
    await expect(write(second, claim)).rejects.toMatchObject({
      code: 'lease-lost',
      details: { reason: 'stale-epoch' },
    });
    await write(first, commit(first, '0.0'));
  });

  it('is fenced by a revocation, whatever it had under way, and stays so', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    log.interpose([revoke(1, 'h1')]);
    const lost = [stream.stage([commit(stream, '0.0')]), stream.stage([commit(stream, '0.1')])];
    stream.flush();
    for (const write of lost) await expect(write).rejects.toMatchObject({ code: 'lease-lost' });
    await expect(stream.stage([commit(stream, '0.0')])).rejects.toMatchObject({ code: 'lease-lost' });
    expect((await foldLog(log)).streams.get(W)!.head.sequence).toBe(0);
  });

  it('goes on when the revocation names another epoch (the control of the fence)', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    log.interpose([revoke(9, 'h1')]);
    await write(stream, commit(stream, '0.0'));
    expect(stream.confirmed.head.sequence).toBe(1);
  });

  it('catches up with what others have added, its own event under way included', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    await log.append(P, [{ value: signal('s1'), type: 'SignalReceived' }]);
    await stream.catchUp();
    expect(stream.confirmed.signals).toHaveLength(1);
    // Stored, but not yet answered: the look finds it first.
    const answered = Promise.withResolvers<void>();
    const append = log.append.bind(log);
    log.append = async (...args) => {
      const base = await append(...args);
      await answered.promise;
      return base;
    };
    const looked = stream.catchUp();
    const written = write(stream, commit(stream, '0.0'));
    await looked;
    answered.resolve();
    await written;
    await stream.catchUp();
    expect(stream.confirmed.head.sequence).toBe(1);
    expect((await foldLog(log)).streams.get(W)).toEqual(stream.confirmed);
  });

  it('is fenced as soon as it folds its revocation, with nothing of its own under way', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    await log.append(P, [{ value: revoke(1, 'h1'), type: 'LeaseRevoked' }]);
    await stream.catchUp();
    expect(stream.fenced).toMatchObject({ code: 'lease-lost' });
    await expect(stream.stage([commit(stream, '0.0')])).rejects.toMatchObject({ code: 'lease-lost' });
  });

  it('stops at an event of its stream that it cannot read', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    const unknown = Buffer.from(`${JSON.stringify({ v: 9, workflow: W, generation: 1, type: 'Novel' })}\n`);
    log.interpose([unknown]);
    await expect(write(stream, commit(stream, '0.0'))).rejects.toMatchObject({ code: 'stream-unreadable' });
  });

  it('stops at a plain payload once it has written a sealed one, and at none before that', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    await log.append(P, [{ value: signal('s1'), type: 'SignalReceived' }]);
    await stream.catchUp();
    expect([stream.fenced, stream.confirmed.signals.length]).toEqual([undefined, 1]);
    // From here on it seals what it writes.
    Object.assign(log, { isSealing: true });
    await write(stream, commit(stream, '0.0'));
    log.interpose([signal('forged')]);
    await expect(write(stream, commit(stream, '0.1'))).rejects.toMatchObject({ code: 'stream-unreadable' });
    expect(stream.confirmed.signals).toHaveLength(1);
  });

  it('passes over what is malformed, and over other streams', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    const foreignUnknown = Buffer.from(`${JSON.stringify({ v: 9, workflow: 'x', generation: 1, type: 'Novel' })}\n`);
    log.interpose([Buffer.from('rubbish'), foreignUnknown, Buffer.alloc(0)]);
    await write(stream, commit(stream, '0.0'));
    expect(stream.confirmed.head.sequence).toBe(1);
  });

  it('fails every write when its gap was trimmed away', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    log.interpose([signal('s1')]);
    const read = log.read.bind(log);
    log.read = async (requests) => {
      await log.trim(P, 3 as Offset);
      return read(requests);
    };
    await expect(write(stream, commit(stream, '0.0'))).rejects.toMatchObject({ code: 'log-trimmed' });
    await expect(stream.stage([commit(stream, '0.0')])).rejects.toMatchObject({ code: 'log-trimmed' });
  });

  it('fails every write when the log was given up', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    await log.close();
    await expect(write(stream, commit(stream, '0.0'))).rejects.toMatchObject({ code: 'append-closed' });
    await stream.settled();
    await expect(stream.stage([commit(stream, '0.0')])).rejects.toMatchObject({ code: 'append-closed' });
  });

  it('sends what is staged together in one append, and in several what is too much for one', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    const sizes: string[][] = [];
    const append = log.append.bind(log);
    log.append = (partition, records) => {
      sizes.push(records.map((record) => record.type));
      return append(partition, records);
    };
    const resolved = (at: number): Draft =>
      ({
        type: 'EffectResolved',
        control: {
          task: '0.0',
          key: `k${at}`,
          operation: 'run.x',
          kind: 'pure',
          outcome: 'done',
          requestDigest: DIGEST,
          responseDigest: DIGEST,
        },
        payload: { response: 'x'.repeat(MAX_BYTES / 4) },
      }) as unknown as Draft;
    const staged = [1, 2, 3, 4].map((at) => stream.stage([resolved(at)]));
    staged.push(stream.stage([resolved(5), resolved(6)]));
    stream.flush();
    await Promise.all(staged);
    expect(sizes.map((types) => types.length)).toEqual([3, 3]);
    expect((await foldLog(log)).streams.get(W)).toEqual(stream.confirmed);
  });

  it('tells the log which records are worth packing: those that go with texts in one append', async () => {
    const stream = hold('h1');
    const hints: string[] = [];
    const append = log.append.bind(log);
    log.append = (to, records) => {
      hints.push(...records.map(({ type, packsWell }) => `${type} ${packsWell ?? 'plain'}`));
      return append(to, records);
    };
    await write(stream, claim);
    await write(stream, commit(stream, '0.0'));
    const reserved = { type: 'CheckpointReserved', control: { checkpoint: 'c9', task: '0.1' }, payload: null } as Draft;
    const said = commit(stream, '0.1');
    const withTexts = { ...said, control: { ...said.control, checkpoint: 'c9', hasContext: true } } as Draft;
    await write(stream, reserved, withTexts);
    expect(hints).toEqual([
      'LeaseClaimed plain',
      'CheckpointCommitted plain',
      'CheckpointReserved true',
      'CheckpointCommitted true',
    ]);
  });

  it('adds nothing when the events are too large together: they must not be told apart by a crash', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    const half = 'x'.repeat(0.6 * MAX_BYTES);
    const done = { type: 'WorkflowCompleted', control: { outputDigest: DIGEST }, payload: { output: half } } as Draft;
    const large = { ...commit(stream, '0.0'), payload: { output: half, tasks: [] } } as Draft;
    await expect(stream.stage([large, done])).rejects.toMatchObject({ code: 'value-too-large' });
    await write(stream, large);
    expect(stream.confirmed).toMatchObject({ status: 'open', head: { sequence: 1 } });
  });

  it('adds nothing when one of the events is too large', async () => {
    const stream = hold('h1');
    await write(stream, claim);
    const large = { ...commit(stream, '0.0'), payload: { output: 'x'.repeat(MAX_BYTES), tasks: [] } } as Draft;
    await expect(stream.stage([commit(stream, '0.0'), large])).rejects.toMatchObject({ code: 'value-too-large' });
    await write(stream, commit(stream, '0.0'));
    expect(stream.confirmed.head.sequence).toBe(1);
  });
});
