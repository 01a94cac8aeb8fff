/** Reads in the memory for content: each takes what it brings, and what finds no room waits with nothing in hand, is made again, or refused. */

import { foldFor, keepJson, keepValue, readingNow } from '@tidemark/codec';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import {
  ContentRoom,
  READ_MAX_BYTES,
  READ_PASSING_MAX_BYTES,
  READ_WAIT_MAX_MS,
  READS_WAITING_MAX_COUNT,
  Reads,
} from './reads.ts';

const MAX_BYTES = 1_000;
const never = new AbortController().signal;
const [acme, globex] = ['tenant acme', 'tenant globex'];
let room: ContentRoom;
let reads: Reads;
let refused: unknown[];
beforeEach(() => {
  refused = [];
  const count = (_: string, __?: number, labels?: object) => void refused.push(labels);
  room = new ContentRoom(MAX_BYTES, { gauge: () => {}, count: count as never });
  reads = new Reads(room);
});
afterEach(() => {
  vi.useRealTimers();
  expect(room.takenCount).toBe(0);
});

const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Keeps so many bytes, and ends when it is told to. */
function held(bytes: number, whose: string | null = acme, signal = never) {
  const end = Promise.withResolvers<void>();
  const begun = vi.fn();
  const done = reads.read({ whose, showsContent: true, remedy: 'Ask for parts.' }, signal, async () => {
    readingNow()!.keep(bytes);
    begun(room.takenCount);
    await end.promise;
    return bytes;
  });
  done.catch(() => {});
  return { begun, done, end: () => end.resolve() };
}

it('many at once never have more than there is, and all are answered', async () => {
  const all = Array.from({ length: 16 }, () => held(300));
  for (let answered = 0; answered < all.length; ) {
    await expect.poll(() => all.some(({ begun }) => begun.mock.calls.length > 0)).toBe(true);
    expect(room.takenCount).toBeLessThanOrEqual(MAX_BYTES);
    const next = all.find(({ begun }, at) => at >= answered && begun.mock.calls.length > 0)!;
    [all[answered], all[all.indexOf(next)]] = [next, all[answered]!];
    next.end();
    expect(await next.done).toBe(300);
    answered++;
  }
});

it('one that waits holds nothing, and another tenant finds room meanwhile', async () => {
  const first = held(500);
  await expect.poll(() => first.begun.mock.calls).toEqual([[500]]);
  const second = held(100);
  const other = held(200, globex);
  await expect.poll(() => other.begun.mock.calls).toEqual([[700]]);
  expect(second.begun).not.toHaveBeenCalled();
  first.end();
  await expect.poll(() => second.begun.mock.calls.length).toBe(1);
  for (const each of [second, other]) each.end();
  await Promise.all([first, second, other].map(({ done }) => done));
});

it('what goes on beside a read that has failed takes nothing any more', async () => {
  const end = Promise.withResolvers<void>();
  const reader = { whose: acme, showsContent: true, remedy: 'Ask for parts.' };
  let late: unknown;
  const failing = reads.read(reader, never, async () => {
    const reading = readingNow()!;
    void end.promise.then(() => reading.keep(300)).catch((error: unknown) => (late = error));
    throw new Error('failed');
  });
  await expect(failing).rejects.toThrow('failed');
  end.resolve();
  await settled();
  expect(late).toMatchObject({ code: 'reads-too-many' });
  expect(room.takenCount).toBe(0);
});

it('one that waits too long, or finds no place to wait, is refused', async () => {
  vi.useFakeTimers();
  const first = held(900);
  const waiting = Array.from({ length: READS_WAITING_MAX_COUNT }, () => held(900));
  await vi.advanceTimersByTimeAsync(0);
  expect(refused).toHaveLength(READS_WAITING_MAX_COUNT / 2);
  await vi.advanceTimersByTimeAsync(READ_WAIT_MAX_MS);
  const all = await Promise.allSettled(waiting.map(({ done }) => done));
  expect(all.every((one) => one.status === 'rejected' && one.reason.code === 'reads-too-many')).toBe(true);
  first.end();
  await first.done;
});

it('one whose caller leaves waits no more', async () => {
  const first = held(900);
  const left = new AbortController();
  const second = held(900, acme, left.signal);
  await Promise.resolve();
  left.abort(new Error('left'));
  await expect(second.done).rejects.toThrow('left');
  first.end();
  await first.done;
});

it('an action is done once: it is refused where there is no room', async () => {
  const first = held(900);
  const act = vi.fn(async () => readingNow()!.keep(900));
  await expect(reads.act({ whose: acme, showsContent: true, remedy: 'Ask for parts.' }, act)).rejects.toMatchObject({
    code: 'reads-too-many',
  });
  expect(act).toHaveBeenCalledOnce();
  first.end();
  await first.done;
});

it('an action takes what it needs where hardly anything else is in hand, and never more than there is', async () => {
  const act = (bytes: number) =>
    reads.act({ whose: acme, showsContent: true, remedy: 'Ask for parts.' }, async () => {
      for (let kept = 0; kept < bytes; kept += 100) readingNow()!.keep(100);
    });
  await act(1_000);
  const small = held(125, globex);
  await act(800);
  small.end();
  await small.done;
  const other = held(200, globex);
  await expect(act(800)).rejects.toMatchObject({ code: 'reads-too-many' });
  other.end();
  await other.done;
  await expect(act(1_100)).rejects.toMatchObject({ code: 'answer-too-large', message: /Ask for parts/ });
});

it('those that come later let an older one have its room', async () => {
  const first = held(400, acme);
  await expect.poll(() => first.begun.mock.calls).toEqual([[400]]);
  const large = held(900, globex);
  await settled();
  const later = [held(50, acme), held(50, globex), held(50, 'tenant initech')];
  const seen: number[] = [];
  large.begun.mockImplementation((taken: number) => void seen.push(taken));
  await settled();
  expect(later.map(({ begun }) => begun.mock.calls.length)).toEqual([0, 0, 0]);
  first.end();
  await expect.poll(() => seen).toHaveLength(1);
  large.end();
  for (const each of later) each.end();
  await Promise.all([first, large, ...later].map(({ done }) => done));
});

it('one behind an older one that gives up takes its turn', async () => {
  const first = held(400);
  await expect.poll(() => first.begun.mock.calls).toEqual([[400]]);
  const left = new AbortController();
  const large = held(900, globex, left.signal);
  await settled();
  const later = held(50, globex);
  await settled();
  expect(later.begun).not.toHaveBeenCalled();
  left.abort(new Error('left'));
  await expect.poll(() => later.begun.mock.calls).toEqual([[450]]);
  for (const each of [first, later]) each.end();
  await Promise.all([first, later].map(({ done }) => done));
  await expect(large.done).rejects.toThrow('left');
});

it('an answer has a bound, in values too, and what is folded counts as much as is in memory of it', async () => {
  reads = new Reads(new ContentRoom(2 * READ_MAX_BYTES));
  const onRead = vi.fn();
  const read = (work: () => void) =>
    reads.read({ whose: acme, showsContent: true, remedy: 'Ask for parts.', onRead }, never, async () => work());
  const tooMany = `[${'{},'.repeat(READ_MAX_BYTES / 100)}0]`;
  await expect(read(() => keepJson(tooMany))).rejects.toMatchObject({ code: 'answer-too-large' });
  const mib = 1_048_576;
  await read(() => foldFor(() => Array.from({ length: 500 }, () => readingNow()!.keep(mib))));
  expect(onRead).toHaveBeenLastCalledWith(READ_PASSING_MAX_BYTES);
  await expect(read(() => foldFor(() => keepJson(`[${tooMany}]`)))).resolves.toBeUndefined();
  const twice = () => foldFor(() => keepJson(`[${tooMany},${tooMany}]`));
  await expect(read(twice)).rejects.toMatchObject({ code: 'answer-too-large' });
  // What is folded into a state, and the state: in memory once, also where the state is as large as an answer may be.
  const state = `[${'{},'.repeat(READ_MAX_BYTES / 130)}0]`;
  await read(() => {
    foldFor(() => keepJson(state));
    keepValue(JSON.parse(state));
  });
  await read(() => keepValue([{ a: 'text' }, null]));
  expect(onRead).toHaveBeenLastCalledWith(4 * 100 + 2 * 'text'.length + 2 * '0a1'.length);
});
