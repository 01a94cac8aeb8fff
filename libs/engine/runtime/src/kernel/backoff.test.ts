/** Loops survive failures, lose no wake, and stop; waiting for a server ends when it must. */

import { InvalidError, UnavailableError } from '@tidemark/core';
import { quiet, SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { beforeEach, describe, expect, it } from 'vitest';
import { type LoopOptions, startLoop, whileUnavailable } from './backoff.ts';
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS } from './limits.ts';

describe('a loop', () => {
  let clock: SimulatedClock;
  let runs: number;
  let failures: unknown[];
  beforeEach(() => {
    clock = new SimulatedClock();
    runs = 0;
    failures = [];
  });

  const start = (body: () => Promise<void>, options: Partial<Pick<LoopOptions, 'periodMs' | 'firstMs'>> = {}) =>
    startLoop(
      () => {
        runs++;
        return body();
      },
      { clock, periodMs: 1_000, onError: (error) => failures.push(error), ...options },
    );
  const nothing = async (): Promise<void> => {};

  it('runs at once, then once a period', async () => {
    const loop = start(nothing);
    await quiet();
    expect(runs).toBe(1);
    await clock.run(999);
    expect(runs).toBe(1);
    await clock.run(1);
    expect(runs).toBe(2);
    await loop.stop();
    expect(clock.sleeperCount).toBe(0);
  });

  it('pauses for as long as is right after what its run took', async () => {
    const loop = start(() => clock.sleep(200, new AbortController().signal), { periodMs: (tookMs) => 3 * tookMs });
    await clock.run(200 + 599);
    expect(runs).toBe(1);
    await clock.run(1);
    expect(runs).toBe(2);
    await clock.run(200);
    await loop.stop();
  });

  it('begins after another time than its period, or with a wake, when told to', async () => {
    const loop = start(nothing, { firstMs: 50 });
    await clock.run(49);
    expect(runs).toBe(0);
    await clock.run(1);
    expect(runs).toBe(1);
    await clock.run(999);
    expect(runs).toBe(1);
    await clock.run(1);
    expect(runs).toBe(2);
    await loop.stop();
    const woken = start(nothing, { firstMs: 50 });
    woken.wake();
    await quiet();
    expect(runs).toBe(3);
    await woken.stop();
  });

  it('runs only when woken when its period is infinite', async () => {
    const loop = start(nothing, { firstMs: Number.POSITIVE_INFINITY });
    await clock.run(1e9);
    expect(runs).toBe(0);
    loop.wake();
    loop.wake();
    await quiet();
    expect(runs).toBe(1);
    await loop.stop();
  });

  it('runs again for a wake during the body: none is lost', async () => {
    const gate = Promise.withResolvers<void>();
    const loop = start(() => (runs === 1 ? gate.promise : nothing()));
    await quiet();
    loop.wake();
    gate.resolve();
    await quiet();
    expect(runs).toBe(2);
    await loop.stop();
  });

  it('tells each failure, and tries again with doubling delays', async () => {
    let bad = 3;
    const loop = start(async () => {
      if (bad-- > 0) throw new Error(`n${bad}`);
    });
    await quiet();
    expect([runs, failures.length]).toEqual([1, 1]);
    await clock.run(BACKOFF_FIRST_MS);
    await clock.run(2 * BACKOFF_FIRST_MS);
    expect([runs, failures.length]).toEqual([3, 3]);
    await clock.run(4 * BACKOFF_FIRST_MS);
    expect([runs, failures.length]).toEqual([4, 3]);
    await loop.stop();
  });

  it('stops after the body that is under way, also in a pause and in a back-off', async () => {
    const gate = Promise.withResolvers<void>();
    const busy = start(() => gate.promise);
    await quiet();
    let isStopped = false;
    const stopping = busy.stop().then(() => {
      isStopped = true;
    });
    await quiet();
    expect(isStopped).toBe(false);
    gate.resolve();
    await stopping;
    const failing = start(() => Promise.reject(new Error('no')));
    await quiet();
    await failing.stop();
    const resting = start(nothing, { periodMs: Number.POSITIVE_INFINITY });
    await quiet();
    await resting.stop();
    await resting.stop();
    expect(clock.sleeperCount).toBe(0);
  });

  it('does not report what fails because it was stopped', async () => {
    const gate = Promise.withResolvers<void>();
    const loop = start(() => gate.promise);
    await quiet();
    const stopping = loop.stop();
    gate.reject(new Error('closed'));
    await stopping;
    expect(failures).toEqual([]);
  });
});

describe('while a server is away', () => {
  const clock = new SimulatedClock();
  const away = new UnavailableError('away', 'away');

  it('it is asked again, at most so far apart, until it answers', async () => {
    let asked = 0;
    const answer = whileUnavailable(clock, new AbortController().signal, async () => {
      if (++asked < 12) throw away;
      return 'here';
    });
    await clock.run(12 * BACKOFF_MAX_MS);
    expect(await answer).toBe('here');
  });

  it('another error passes at once', async () => {
    const wrong = new InvalidError('wrong', 'wrong');
    await expect(whileUnavailable(clock, new AbortController().signal, () => Promise.reject(wrong))).rejects.toBe(
      wrong,
    );
  });

  it('an abort ends the wait with the last failure, and is no first one', async () => {
    const stop = new AbortController();
    const waiting = whileUnavailable(clock, stop.signal, () => Promise.reject(away));
    waiting.catch(() => {});
    await quiet();
    stop.abort();
    await expect(waiting).rejects.toBe(away);
    expect(await whileUnavailable(clock, stop.signal, async () => 1)).toBe(1);
    await expect(whileUnavailable(clock, stop.signal, () => Promise.reject(away))).rejects.toBe(away);
    expect(clock.sleeperCount).toBe(0);
  });
});
