/** Readers of one workflow's pieces, many and slow: what they share, what is kept, who is cut off, and whose pieces count. */

import { WATCH_KEPT_MAX_BYTES } from '@tidemark/ports';
import type { CallDelta, ModelChunk } from '@tidemark/runtime';
import { beforeEach, expect, it } from 'vitest';
import { PieceReader, type ReaderOptions, UiMessageReader } from './answer-readers.ts';
import type { Feed, SentEvent, SettledCall } from './feed.ts';
import { PieceRoom, Pieces, RunPieces } from './pieces.ts';
import type { EventSink } from './sink.ts';

/** What rows have: the newest lease, the position, and open calls. */
let feed: { epoch: number; position: number; openCalls: Set<string> };
let pieces: RunPieces;
let number: number;
beforeEach(() => {
  feed = { epoch: 1, position: 10, openCalls: new Set(['a']) };
  pieces = new RunPieces(new PieceRoom());
  number = 0;
});

type Given = Partial<Omit<CallDelta, 'epoch' | 'call'> & { readonly epoch: number; readonly call: string }>;
const chunkOf = ({ kind = 'text', ...given }: Given): ModelChunk => ({
  workflow: 'w' as never,
  task: '0.0' as never,
  delta: { kind, call: 'a', attempt: 5, index: 0, epoch: 1, number: ++number, ...given } as unknown as CallDelta,
});
const reset = (given: Given = {}): void => pieces.take(chunkOf({ kind: 'reset', ...given }));
const say = (index: number, text: string, given: Given = {}): void => pieces.take(chunkOf({ index, text, ...given }));

/** A connection that reads, or does not. */
function sinkOf(reads = true) {
  const left = new AbortController();
  let drained = Promise.withResolvers<void>();
  const sink = {
    written: [] as Uint8Array[],
    problems: [] as string[],
    unreadBytes: 0,
    closed: left.signal,
    get isFull() {
      return sink.unreadBytes >= 128 * 1_024;
    },
    write(bytes: Uint8Array) {
      sink.written.push(bytes);
      if (!reads) sink.unreadBytes += bytes.length;
    },
    writeUnlessBusy: (bytes: Uint8Array) => sink.write(bytes),
    drained: () => drained.promise,
    fail: (error: Error) => void sink.problems.push(error.message),
    end: () => left.abort(),
    /** Reads all that waits. */
    read() {
      sink.unreadBytes = 0;
      drained.resolve();
      drained = Promise.withResolvers();
    },
    get text() {
      return sink.written.map((bytes) => `${bytes}`).join('');
    },
  };
  return sink;
}

const optionsOf = (sink: object, has = { position: 0, place: { epoch: 0, number: 0 } }): ReaderOptions => ({
  ...{ sink: sink as EventSink, whose: null, pieces, has },
});

function reader(sink: object, has?: ReaderOptions['has']): PieceReader {
  const made = new PieceReader(optionsOf(sink, has));
  made.onLive(feed as unknown as Feed);
  return made;
}

const settled = (call: SettledCall): SentEvent => ({ settled: call, type: 'EffectResolved' }) as unknown as SentEvent;
const saidTo = ({ text }: { readonly text: string }): string =>
  [...text.matchAll(/^event: reset$|"text":"([^"]*)"/gm)].map(([, said]) => said ?? '|').join('');

it('a thousand readers of one stream share one subscription and the bytes of each piece', async () => {
  let subscribed = 0;
  let hear: ((chunk: ModelChunk) => void) | undefined;
  const all = new Pieces({
    watch: async (_workflow: string, listener: (chunk: ModelChunk) => void) => {
      subscribed++;
      hear = listener;
      return async () => void subscribed--;
    },
  });
  const sinks = Array.from({ length: 1_000 }, () => sinkOf());
  for (const sink of sinks) {
    pieces = await all.of('w' as never, sink.closed);
    reader(sink);
  }
  expect(subscribed).toBe(1);
  hear!(chunkOf({ kind: 'reset' }));
  for (let index = 1; index <= 50; index++) hear!(chunkOf({ index, text: `${index} ` }));
  const [first] = sinks;
  expect(first!.written).toHaveLength(51);
  for (const { written } of sinks) expect(written.every((bytes, at) => bytes === first!.written[at])).toBe(true);
  for (const sink of sinks) sink.end();
  await expect.poll(() => subscribed).toBe(0);
});

it('a reader that does not read holds little, and is told from where to resume once what it needs is gone', async () => {
  const [stuck, quick] = [sinkOf(false), sinkOf()];
  reader(stuck);
  reader(quick);
  reset();
  const text = 'x'.repeat(10_000);
  const count = Math.ceil((2 * WATCH_KEPT_MAX_BYTES) / text.length);
  for (let index = 1; index <= count; index++) say(index, text);
  expect(quick.written).toHaveLength(count + 1);
  expect(quick.problems).toEqual([]);
  expect(stuck.unreadBytes).toBeLessThan(200_000);
  const got = stuck.written.length;
  stuck.read();
  await expect.poll(() => stuck.problems.length).toBe(1);
  expect(stuck.problems).toEqual([expect.stringContaining(`from=0.1.${got}:`)]);
});

it('a reader that was slow and reads again gets the rest, in order', async () => {
  const slow = sinkOf(false);
  reader(slow);
  reset();
  const text = 'x'.repeat(10_000);
  for (let index = 1; index <= 40; index++) say(index, text);
  expect(slow.written.length).toBeLessThan(30);
  await expect
    .poll(() => {
      slow.read();
      return slow.written.length;
    })
    .toBe(41);
  expect([...slow.text.matchAll(/"index":(\d+)/g)].map(([, index]) => Number(index))).toEqual(
    Array.from({ length: 41 }, (_, at) => at),
  );
});

it('what a holder says that has lost its lease never shows after the reset of the next one', () => {
  const sink = sinkOf();
  reader(sink);
  reset();
  say(1, 'old');
  number = 0;
  reset({ epoch: 2, attempt: 14 });
  say(1, 'new', { epoch: 2, attempt: 14 });
  for (const each of [3, 4]) say(each - 1, ' ghost', { number: each });
  say(2, ' words', { epoch: 2, attempt: 14, number: 3 });
  expect(saidTo(sink)).toBe('|old|new words');
  // Rows that know of the next lease are enough.
  feed.epoch = 3;
  say(3, ' more', { epoch: 2, attempt: 14, number: 4 });
  expect(saidTo(sink)).toBe('|old|new words');
});

it('nothing is said of a call that has its outcome, and of one that lacks a piece until its next attempt', () => {
  const sink = sinkOf();
  const live = reader(sink);
  reset();
  say(1, 'a');
  live.event(
    settled({ call: 'a', task: '0.0', position: 11, answer: { text: 'a', toolCalls: [], finishReason: 'stop' } }),
  );
  feed = Object.assign(feed, { position: 11, openCalls: new Set(['b']) });
  say(2, ' late');
  reset({ call: 'b', attempt: 12 });
  say(1, 'b', { call: 'b', attempt: 12 });
  say(3, ' after a gap', { call: 'b', attempt: 12 });
  say(4, ' and more', { call: 'b', attempt: 12 });
  reset({ call: 'b', attempt: 13 });
  say(1, 'again', { call: 'b', attempt: 13 });
  expect(saidTo(sink)).toBe('|aa|b|again');
  // Who comes now hears of the open attempt alone.
  const late = sinkOf();
  reader(late);
  expect(saidTo(late)).toBe('|again');
});

it('a reader without the beginning of a call hears nothing of it before its answer, one that had it hears the rest', () => {
  for (let index = 40; index < 45; index++) say(index, `${index} `, { number: index });
  const [late, back] = [sinkOf(), sinkOf()];
  reader(late);
  reader(back, { position: 10, place: { epoch: 1, number: 41 } });
  const long = sinkOf();
  reader(long, { position: 10, place: { epoch: 1, number: 30 } });
  expect([late, back, long].map(saidTo)).toEqual(['', '42 43 44 ', '']);
});

it('a UI message takes an attempt back with its step, and what was shown of a run that ended without an answer', () => {
  const sink = sinkOf();
  const ui = new UiMessageReader(optionsOf(sink), 'w' as never);
  ui.onLive(feed as unknown as Feed);
  reset();
  say(1, 'lost');
  reset({ attempt: 6 });
  say(1, 'Hi', { attempt: 6 });
  ui.end();
  expect([...sink.text.matchAll(/"type":"([\w-]+)"/g)].map(([, type]) => type)).toEqual([
    ...['start', 'start-step', 'text-start', 'text-delta', 'reset-step', 'text-start', 'text-delta', 'reset-step'],
    ...['finish-step', 'finish'],
  ]);
});
