/** A look at all followed workflows: what can't be read ends its own followers with a problem, and nobody else's. */

import { ContentRoom } from '@tidemark/access/reads';
import { decodeRecord, encodeRecord, type NewEvent } from '@tidemark/codec';
import {
  CorruptError,
  emptyPartition,
  foldEntry,
  type Offset,
  type Partition,
  streamToJson,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type { ReadRequest, WorkflowSummary } from '@tidemark/ports';
import { systemClock } from '@tidemark/runtime';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EventFollower } from './feed.ts';
import { Feeds } from './feeds.ts';
import type { EventSink } from './sink.ts';

const recordOf = (partition: number, offset: number, type: string, control: object, payload = '{}') => {
  const envelope = {
    ...{
      v: 1,
      id: `${partition}-${offset}`,
      tenant: 'acme',
      workflow: `w${partition}`,
      generation: 1,
      lamport: offset,
    },
    ...{ atMs: 0, type, control, epoch: 0, holder: '', ordinal: 0 },
  };
  const value = encodeRecord({ envelope, payload: Buffer.from(payload) } as unknown as NewEvent, 1_000_000);
  return { offset: offset as Offset, value };
};

const openingOf = (partition: number) =>
  recordOf(partition, 0, 'WorkflowOpened', {
    ...{ definition: 'd', version: 1, rules: 1, partition, placement: 'exclusive', inputDigest: 'a'.repeat(64) },
    ...{ tasks: [], pinned: false, shadow: false, compensates: null },
  });

const loaded = (partition: Partition) => {
  const entry = decodeRecord(openingOf(partition).value);
  const { state } = foldEntry(emptyPartition(partition, 0 as Offset), entry);
  const stream = state.streams.get(`w${partition}` as WorkflowId)!;
  return { partition, next: 1, generation: 1, streams: [{ state: streamToJson(stream), tasks: [] }] };
};

const COUNT = 7;
const LOST = 3;
let failure: Error;
let heard: ((partitions: readonly Partition[]) => void) | undefined;
let errors: unknown[];
let readCount: number;
let feeds: Feeds;

beforeEach(() => {
  heard = undefined;
  readCount = 0;
  errors = [];
  const ports = {
    clock: systemClock,
    hints: {
      subscribe: async (_topic: string, hear: NonNullable<typeof heard>) => {
        heard = hear;
        return async () => {};
      },
    },
    store: {
      loadPartitions: async (partitions: readonly Partition[]) => partitions.map(loaded),
      positions: async (partitions: readonly Partition[]) => new Map(partitions.map((each) => [each, 2])),
    },
    log: {
      read: async (requests: readonly ReadRequest[]) => {
        readCount++;
        if (requests.some(({ partition }) => partition === LOST)) throw failure;
        return requests.map(({ partition }) => ({
          partition,
          records: [recordOf(partition, 1, 'SignalReceived', { name: 'go' })],
        }));
      },
    },
  };
  feeds = new Feeds(ports as never, new ContentRoom(), (_where, error) => errors.push(error));
});

afterEach(() => feeds.close());

const eventsTo = (sink: object, how: { readonly whose: string | null; readonly next: number }): EventFollower =>
  new EventFollower(sink as EventSink, { ...how, redaction: { content: true, words: true, tokens: true } });

function follow(partition: number) {
  const written: string[] = [];
  const gone = new AbortController();
  const sink = { closed: gone.signal, write: (bytes: Uint8Array) => written.push(`${bytes}`), end: () => {} };
  const row = { workflow: `w${partition}`, partition, generation: 1, position: 1, closedInGeneration: null };
  const outcome = feeds.follow(row as unknown as WorkflowSummary, eventsTo(sink, { whose: null, next: 2 })).then(
    () => 'left' as unknown,
    (error: unknown) => error,
  );
  return { written, outcome, leave: () => gone.abort() };
}

const followAll = () => Array.from({ length: COUNT }, (_, partition) => follow(partition));

/** Hints are given again: one that came before a feed was open tells it nothing. */
const hinted = <T>(poll: () => T) =>
  expect.poll(
    () => {
      heard?.(Array.from({ length: COUNT }, (_, partition) => partition as Partition));
      return poll();
    },
    { timeout: 60_000 },
  );

it('ends the followers of what can’t be read, and tells all others what came', async () => {
  failure = new CorruptError('sealed-wrong', 'not as it was sealed');
  const followers = followAll();
  const others = followers.filter((_, partition) => partition !== LOST);
  await hinted(() => others.map(({ written }) => written.length)).toEqual(others.map(() => 1));
  expect(others[0]!.written[0]).toContain('SignalReceived');
  const over = vi.fn();
  void followers[LOST]!.outcome.then(over);
  await hinted(() => over.mock.calls).toEqual([[failure]]);
  for (const { leave } of others) leave();
  expect(await Promise.all(others.map(({ outcome }) => outcome))).toEqual(others.map(() => 'left'));
  expect(errors).toEqual([]);
});

it('ends nobody while the log is away', async () => {
  failure = new UnavailableError('log-unavailable', 'gone');
  const followers = followAll();
  await hinted(() => readCount).toBeGreaterThan(0);
  for (const { leave } of followers) leave();
  expect(await Promise.all(followers.map(({ outcome }) => outcome))).toEqual(followers.map(() => 'left'));
});

it('tells all of one that closed after its row was read, and then of its end', async () => {
  const records = [openingOf(0), recordOf(0, 1, 'WorkflowTerminated', { code: 'asked', by: 'ana' })];
  const state = records.reduce(
    (folded, { value }) => foldEntry(folded, decodeRecord(value)).state,
    emptyPartition(0 as Partition, 0 as Offset),
  );
  const stream = state.streams.get('w0' as WorkflowId)!;
  const stale = { workflow: 'w0', partition: 0, generation: 1, position: 1, closedInGeneration: null };
  const ports = {
    clock: systemClock,
    hints: { subscribe: async () => async () => {} },
    store: {
      loadPartitions: async () => [
        { partition: 0, next: 2, generation: 1, streams: [{ state: streamToJson(stream), tasks: [] }] },
      ],
      workflow: async () => ({ ...stale, position: stream.position, closedInGeneration: 1 }),
      checkpoints: async () => [{ sequence: 0, offset: 0 }],
    },
    log: {
      read: async ([request]: readonly ReadRequest[]) => [{ partition: 0, records: records.slice(request!.from) }],
    },
  };
  await using stack = new AsyncDisposableStack();
  const late = stack.adopt(new Feeds(ports as never, new ContentRoom(), () => {}), (opened) => opened.close());
  const written: string[] = [];
  const sink = {
    closed: new AbortController().signal,
    write: (bytes: Uint8Array) => written.push(`${bytes}`),
    drained: async () => {},
    unreadBytes: 0,
    end: () => {},
  };
  await late.follow(stale as unknown as WorkflowSummary, eventsTo(sink, { whose: null, next: 1 }));
  expect(written.map((text) => /WorkflowOpened|WorkflowTerminated|event: end/.exec(text)?.[0])).toEqual([
    'WorkflowOpened',
    'WorkflowTerminated',
    'event: end',
  ]);
});

it('a history that nobody reads is in memory a piece at a time, counted, and is sent whole once it is read', async () => {
  const signal = (offset: number) =>
    recordOf(0, offset, 'SignalReceived', { name: 'go' }, JSON.stringify({ value: 'x'.repeat(60_000) }));
  const records = [openingOf(0), ...Array.from({ length: 40 }, (_, at) => signal(at + 1))];
  const row = { workflow: 'w0', partition: 0, generation: 1, position: 41, closedInGeneration: 1 };
  const asked: number[] = [];
  const ports = {
    clock: systemClock,
    hints: { subscribe: async () => async () => {} },
    store: {
      loadPartitions: async () => [{ partition: 0, next: 41, generation: 1, streams: [] }],
      workflow: async () => row,
      checkpoints: async () => [{ sequence: 0, offset: 0 }],
    },
    log: {
      read: async ([request]: readonly ReadRequest[], { maxBytes }: { maxBytes: number }) => {
        asked.push(maxBytes);
        return [{ partition: 0, records: records.slice(request!.from, request!.from + Math.ceil(maxBytes / 60_000)) }];
      },
    },
  };
  await using stack = new AsyncDisposableStack();
  const room = new ContentRoom();
  const late = stack.adopt(new Feeds(ports as never, room, () => {}), (opened) => opened.close());
  const COUNT_AT_ONCE = 50;
  const read = Promise.withResolvers<void>();
  const followers = Array.from({ length: COUNT_AT_ONCE }, () => {
    const sink = {
      closed: new AbortController().signal,
      all: 0,
      unreadBytes: 0,
      write(bytes: Uint8Array) {
        this.all++;
        this.unreadBytes += bytes.length;
      },
      get isFull() {
        return this.unreadBytes >= 128 * 1_024;
      },
      async drained() {
        await read.promise;
        this.unreadBytes = 0;
      },
      end: () => {},
    };
    const follower = eventsTo(sink, { whose: 'tenant acme', next: 1 });
    return { sink, done: late.follow(row as unknown as WorkflowSummary, follower) };
  });
  const unread = () => followers.reduce((sum, { sink }) => sum + sink.unreadBytes, 0);
  await expect.poll(() => followers.every(({ sink }) => sink.all > 1)).toBe(true);
  await expect.poll(() => room.takenCount).toBe(unread());
  expect(Math.max(...asked)).toBeLessThan(300_000);
  read.resolve();
  await Promise.all(followers.map(({ done }) => done));
  expect(followers.map(({ sink }) => sink.all)).toEqual(followers.map(() => records.length + 1));
  expect(room.takenCount).toBe(0);
});
