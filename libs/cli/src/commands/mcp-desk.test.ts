/** How long a server holds a folder, over desks that do nothing. */

import { ConfigError, UnavailableError } from '@tidemark/core';
import { eventually } from '@tidemark/testkit/eventually';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Desk, NewsListener, Place } from '../state/desk.ts';
import { LentDesk } from './mcp-desk.ts';

class FakeDesk {
  readonly place: Place;
  closed = false;
  tell: NewsListener = () => {};

  constructor(place: Place) {
    this.place = place;
  }

  async onNews(listener: NewsListener) {
    this.tell = listener;
    return () => {};
  }

  async close() {
    this.closed = true;
  }
}

const HELD: Place = { kind: 'embedded', folder: 'f', holder: null };
const SHARED: Place = { kind: 'embedded', folder: 'f', holder: { pid: 1, command: 'dev' } };

function lent(place: Place, failures: Error[] = []) {
  const desks: FakeDesk[] = [];
  const lender = new LentDesk(async () => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    const desk = new FakeDesk(place);
    desks.push(desk);
    return desk as unknown as Desk;
  });
  onTestFinished(() => lender.close());
  return { lender, desks };
}

const nothing = async (): Promise<void> => {};

it('opens at the first use, once for calls at the same time, and lets a folder go when nobody uses it', async () => {
  const { lender, desks } = lent(HELD);
  expect(desks).toEqual([]);
  const first = Promise.withResolvers<void>();
  const calls = [lender.use('look', () => first.promise), lender.use('write', nothing)];
  await calls[1];
  expect(desks.map(({ closed }) => closed)).toEqual([false]);
  first.resolve();
  await calls[0];
  await lender.use('look', nothing);
  expect(desks).toHaveLength(1);
  await eventually(() => desks[0]!.closed);
  await lender.use('look', nothing);
  expect(desks).toHaveLength(2);
});

it('gives others a turn while calls follow one another', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const { lender, desks } = lent(HELD);
  while (desks.length < 2) {
    const used = lender.use('look', nothing);
    await vi.advanceTimersByTimeAsync(200);
    await used;
  }
  expect(desks[0]!.closed).toBe(true);
});

it('stays connected to whoever holds the folder', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const [shared, held] = [lent(SHARED), lent(HELD)];
  const used = async (): Promise<readonly boolean[]> => {
    await Promise.all([shared, held].map(({ lender }) => lender.use('look', nothing)));
    await vi.advanceTimersByTimeAsync(60_000);
    return [shared, held].map(({ desks }) => desks[0]!.closed);
  };
  // Control: a folder of its own is let go.
  expect(await used()).toEqual([false, true]);
  expect(await used()).toEqual([false, true]);
  expect([shared.desks.length, held.desks.length]).toEqual([1, 2]);
});

it('asks the next holder when one ends: what only looks is repeated, what writes is told', async () => {
  const { lender, desks } = lent(SHARED);
  const endsOnce = (desk: Desk): Promise<string> => {
    if (desk !== (desks[0] as unknown as Desk)) return Promise.resolve('from the next');
    desks[0]!.tell({ type: 'gone' });
    return Promise.reject(new UnavailableError('holder-gone', 'it ended'));
  };
  expect(await lender.use('look', endsOnce)).toBe('from the next');
  expect(desks[0]!.closed).toBe(true);

  const other = lent(SHARED);
  let count = 0;
  const writing = other.lender.use('write', async () => {
    count += 1;
    other.desks[0]!.tell({ type: 'gone' });
    throw new UnavailableError('holder-gone', 'it ended');
  });
  await expect(writing).rejects.toMatchObject({ code: 'holder-gone' });
  expect(count).toBe(1);
  await other.lender.use('write', nothing);
  expect(other.desks).toHaveLength(2);
});

it('waits for its turn at a folder, and tells everything else at once', async () => {
  const inUse = new ConfigError('log-locked', 'in use');
  const { lender, desks } = lent(HELD, [inUse, inUse]);
  await lender.use('look', nothing);
  expect(desks).toHaveLength(1);
  const other = lent(HELD, [new ConfigError('log-newer', 'newer')]);
  await expect(other.lender.use('look', nothing)).rejects.toMatchObject({ code: 'log-newer' });
  // What failed to open is opened anew by the next call.
  await other.lender.use('look', nothing);
});
