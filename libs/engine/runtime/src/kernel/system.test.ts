/** The system's own clock, randomness and digests keep the promises of their ports. */

import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { sha256Digest, systemClock, systemPrng } from './system.ts';

describe('clock', () => {
  test('milliseconds since the epoch, and a clock that never goes back', () => {
    expect(Math.abs(systemClock.nowMs() - Date.now())).toBeLessThan(1_000);
    let last = systemClock.monotonicMs();
    for (let poll = 0; poll < 1_000; poll += 1) {
      const now = systemClock.monotonicMs();
      expect(now).toBeGreaterThanOrEqual(last);
      last = now;
    }
  });

  test('sleep lasts about as long as it is told', async () => {
    const began = systemClock.monotonicMs();
    await systemClock.sleep(20);
    // A timer of Node may fire up to a millisecond early by this clock.
    expect(systemClock.monotonicMs() - began).toBeGreaterThanOrEqual(19);
  });

  test('an abort ends a sleep of any length at once; an aborted signal never begins one', async () => {
    const stop = new AbortController();
    const sleeping = Promise.all([systemClock.sleep(2 ** 40, stop.signal), systemClock.sleep(60_000, stop.signal)]);
    stop.abort();
    await sleeping;
    await systemClock.sleep(60_000, stop.signal);
  });

  test('no time, or less, is no sleep', async () => {
    await systemClock.sleep(0);
    await systemClock.sleep(-5);
  });
});

describe('randomness', () => {
  test('as many bytes as asked for, across and beyond its block', () => {
    for (const count of [0, 1, 16, 4_000, 4_096, 4_097, 100_000]) {
      expect(systemPrng.bytes(count).length).toBe(count);
    }
  });

  test('what was given out is not given out again, nor changed by what follows', () => {
    const seen = new Set<string>();
    const first = systemPrng.bytes(16);
    const copy = Uint8Array.from(first);
    for (let draw = 0; draw < 10_000; draw += 1) seen.add(Buffer.from(systemPrng.bytes(16)).toString('hex'));
    expect(seen.size).toBe(10_000);
    expect(first).toEqual(copy);
  });
});

describe('digest', () => {
  test('SHA-256 of text as UTF-8 and of bytes, in 64 lower-case hex digits', () => {
    expect(sha256Digest.sha256('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
    const text = 'Gezeiten ☂ é';
    expect(sha256Digest.sha256(text)).toBe(createHash('sha256').update(text, 'utf8').digest('hex'));
    expect(sha256Digest.sha256(new TextEncoder().encode(text))).toBe(sha256Digest.sha256(text));
  });
});
