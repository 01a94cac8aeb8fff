/** Polls take only a part of the time, and their results are never too old. */

import { expect, it } from 'vitest';
import { DEMAND_STALE_MS } from '../coordinator/limits.ts';
import { POLL_REST, pollRestMs } from './backoff.ts';

it('is the period after short looks, and a multiple of long ones', () => {
  expect(pollRestMs(0, 2_000)).toBe(2_000);
  expect(pollRestMs(400, 2_000)).toBe(2_000);
  expect(pollRestMs(1_400, 2_000)).toBe(POLL_REST * 1_400);
});

it('lets nothing become stale that shorter rests would keep fresh', () => {
  for (let tookMs = 0; 2 * tookMs + 2_000 < DEMAND_STALE_MS; tookMs += 100) {
    expect(2 * tookMs + pollRestMs(tookMs, 2_000)).toBeLessThan(DEMAND_STALE_MS);
  }
  expect(pollRestMs(7_000, 2_000)).toBe(2_000);
});
