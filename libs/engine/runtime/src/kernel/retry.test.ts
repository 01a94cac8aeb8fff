/** Delays between attempts: as the policy says, within its jitter and its longest delay, for any count of failures. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { backoffMs, DEFAULT_RETRY, retryDelayMs } from './retry.ts';

describe('the delay of a retry', () => {
  const policy = { attempts: 9, firstDelayMs: 200, factor: 3, maxDelayMs: 4_000, jitter: 0.5, nonRetryable: [] };

  it('grows by the factor up to the longest', () => {
    expect([1, 2, 3, 4, 5].map((failures) => retryDelayMs(policy, failures, 0))).toEqual([
      200, 600, 1_800, 4_000, 4_000,
    ]);
  });

  it('is shortened by the jitter, never lengthened', () => {
    expect(retryDelayMs(policy, 1, 0.5)).toBe(150);
    expect(retryDelayMs(policy, 5, 1)).toBe(2_000);
    expect(retryDelayMs({ ...policy, jitter: 0, nonRetryable: [] }, 2, 0.9)).toBe(600);
  });

  it('is a whole number from 0 to the longest, whatever the count', () => {
    fc.assert(
      fc.property(
        fc.record({
          attempts: fc.constant(1_000),
          firstDelayMs: fc.double({ min: 0, max: 1e9, noNaN: true }),
          factor: fc.double({ min: 1, max: 1_000, noNaN: true }),
          maxDelayMs: fc.integer({ min: 0, max: 604_800_000 }),
          jitter: fc.double({ min: 0, max: 1, noNaN: true }),
          nonRetryable: fc.constant([]),
        }),
        fc.integer({ min: 1, max: 1_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (any, failures, random) => {
          const delay = retryDelayMs(any, failures, random);
          expect(Number.isSafeInteger(delay) && delay >= 0 && delay <= any.maxDelayMs).toBe(true);
        },
      ),
    );
  });

  it('has a default that tries more than once', () => {
    expect(retryDelayMs(DEFAULT_RETRY, DEFAULT_RETRY.attempts - 1, 0)).toBe(1_600);
  });

  it('is never less than what the receiver asks, of which a day counts, and differs among those whom it told', () => {
    expect([0, 0.5, 0.99].map((random) => retryDelayMs(DEFAULT_RETRY, 1, random, 60_000))).toEqual([
      60_200, 75_000, 89_700,
    ]);
    expect(retryDelayMs({ ...policy, jitter: 0 }, 1, 0.5, 60_000)).toBe(60_200);
    expect(retryDelayMs(policy, 1, 0, 366 * 86_400_000)).toBe(86_400_200);
    expect(retryDelayMs(policy, 1, 0.5, -1)).toBe(150);
  });
});

describe('the back-off', () => {
  it('doubles up to the longest, for any count of failures', () => {
    expect([1, 2, 3, 4].map((failures) => backoffMs(failures, 50, 300))).toEqual([50, 100, 200, 300]);
    expect(backoffMs(1e6, 50, 2_000)).toBe(2_000);
  });
});
