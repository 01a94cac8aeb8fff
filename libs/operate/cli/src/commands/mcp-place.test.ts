/** How long a server holds a folder, over places that do nothing. */

import { TidemarkApiError } from '@tidemark/client';
import { ConfigError } from '@tidemark/core';
import { eventually } from '@tidemark/testkit/eventually';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Place } from '../place/place.ts';
import { SharedPlace } from './mcp-place.ts';

type Kind = Pick<Place, 'kind' | 'holder'>;

class FakePlace {
  readonly kind: Place['kind'];
  readonly holder: Place['holder'];
  closed = false;

  constructor({ kind, holder }: Kind) {
    this.kind = kind;
    this.holder = holder;
  }

  async close() {
    this.closed = true;
  }
}

const HELD: Kind = { kind: 'folder', holder: null };
const SHARED: Kind = { kind: 'folder', holder: { pid: 1, command: 'dev' } };
const SERVER: Kind = { kind: 'server', holder: null };

function lent(kind: Kind, failures: Error[] = []) {
  const places: FakePlace[] = [];
  const lender = new SharedPlace(async () => {
    const failure = failures.shift();
    if (failure !== undefined) throw failure;
    const place = new FakePlace(kind);
    places.push(place);
    return place as unknown as Place;
  });
  onTestFinished(() => lender.close());
  return { lender, places };
}

const nothing = async (): Promise<void> => {};

it('opens at the first use, once for calls at the same time, and lets a folder go when nobody uses it', async () => {
  const { lender, places } = lent(HELD);
  expect(places).toEqual([]);
  const first = Promise.withResolvers<void>();
  const calls = [lender.use('read', () => first.promise), lender.use('write', nothing)];
  await calls[1];
  expect(places.map(({ closed }) => closed)).toEqual([false]);
  first.resolve();
  await calls[0];
  await lender.use('read', nothing);
  expect(places).toHaveLength(1);
  await eventually(() => places[0]!.closed);
  await lender.use('read', nothing);
  expect(places).toHaveLength(2);
});

it('gives others a turn while calls follow one another', async () => {
  vi.useFakeTimers();
  onTestFinished(() => {
    vi.useRealTimers();
  });
  const { lender, places } = lent(HELD);
  while (places.length < 2) {
    const used = lender.use('read', nothing);
    await vi.advanceTimersByTimeAsync(200);
    await used;
  }
  expect(places[0]!.closed).toBe(true);
});

it.each([
  ['a folder that another process holds', SHARED],
  ['a server', SERVER],
])('asks %s anew by each call, and keeps nothing of it', async (_, kind) => {
  const { lender, places } = lent(kind);
  const first = Promise.withResolvers<void>();
  const calls = [lender.use('read', () => first.promise), lender.use('write', nothing)];
  await calls[1];
  expect(places.map(({ closed }) => closed)).toEqual([false, true]);
  first.resolve();
  await calls[0];
  expect(places.map(({ closed }) => closed)).toEqual([true, true]);
});

it('asks the next holder when one ends: what only looks is repeated, what writes is told', async () => {
  const gone = new TidemarkApiError({ status: 0, code: 'unreachable', detail: 'it ended' });
  const { lender, places } = lent(SHARED);
  const endsOnce = (place: Place): Promise<string> =>
    place === (places[0] as unknown as Place) ? Promise.reject(gone) : Promise.resolve('from the next');
  expect(await lender.use('read', endsOnce)).toBe('from the next');

  for (const [how, kind] of [
    ['write', SHARED],
    // Its client has tried again already.
    ['read', SERVER],
  ] as const) {
    const other = lent(kind);
    const asked = vi.fn(() => Promise.reject(gone));
    await expect(other.lender.use(how, asked)).rejects.toBe(gone);
    expect(asked).toHaveBeenCalledTimes(1);
    await other.lender.use(how, nothing);
    expect(other.places).toHaveLength(2);
  }
});

it('waits for a folder in one turn, which ends with the server, and tells what failed at once', async () => {
  const inUse = new ConfigError('log-locked', 'in use');
  let tries = 0;
  const waiting = new SharedPlace((signal) => {
    tries += 1;
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(inUse)));
  });
  const used = expect(waiting.use('read', nothing)).rejects.toBe(inUse);
  await eventually(() => tries === 1);
  await waiting.close();
  await used;
  expect(tries).toBe(1);
  const other = lent(HELD, [new ConfigError('log-newer', 'newer')]);
  await expect(other.lender.use('read', nothing)).rejects.toMatchObject({ code: 'log-newer' });
  // What failed to open is opened anew by the next call.
  await other.lender.use('read', nothing);
});
