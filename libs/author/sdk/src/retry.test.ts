import { DEFAULT_RETRY, retryPolicy } from '@tidemark/runtime';
import { describe, expect, it } from 'vitest';
import { retryProblems } from './retry.ts';

const problems = (options: object) => retryProblems(options, retryPolicy(options, DEFAULT_RETRY));

describe('retryPolicy', () => {
  it('takes from the base what is left out', () => {
    expect(retryPolicy(undefined, DEFAULT_RETRY)).toEqual(DEFAULT_RETRY);
    expect(retryPolicy({ attempts: 2 }, DEFAULT_RETRY)).toEqual({ ...DEFAULT_RETRY, attempts: 2 });
  });

  it('has no patience where one attempt is all, unless it says so', () => {
    expect(retryPolicy({ attempts: 1 }, DEFAULT_RETRY).patienceMs).toBe(0);
    expect(retryPolicy({ attempts: 1, patienceMs: 5 }, DEFAULT_RETRY).patienceMs).toBe(5);
  });

  it('knows errors that no further attempt can mend, in place of the base', () => {
    const base = { ...DEFAULT_RETRY, nonRetryable: ['a'] };
    expect(retryPolicy({}, base).nonRetryable).toEqual(['a']);
    expect(retryPolicy({ nonRetryable: ['b'] }, base).nonRetryable).toEqual(['b']);
  });

  it('waits as long as the first delay says, even beyond the base', () => {
    expect(retryPolicy({ firstDelayMs: 900_000 }, DEFAULT_RETRY).maxDelayMs).toBe(900_000);
  });
});

describe('retryProblems', () => {
  it('finds none in a sound policy', () => expect(problems({ attempts: 1, firstDelayMs: 0, jitter: 0 })).toEqual([]));

  it.each([
    [{ attempts: 0 }, 'retry.attempts must be a whole number between 1 and 1000'],
    [{ attempts: 1.5 }, 'retry.attempts must be a whole number between 1 and 1000'],
    [{ patienceMs: -1 }, 'retry.patienceMs must be between 0 and'],
    [{ passing: ['500', ''] }, 'retry.passing must be a list of at most 100 error codes'],
    [{ firstDelayMs: -1 }, 'retry.firstDelayMs must be between 0 and'],
    [{ factor: 0.5 }, 'retry.factor must be between 1 and'],
    [{ firstDelayMs: 500, maxDelayMs: 100 }, 'retry.maxDelayMs must be between 500 and'],
    [{ jitter: 2 }, 'retry.jitter must be between 0 and 1'],
    [{ factor: Number.NaN }, 'retry.factor must be between 1 and'],
    [{ nonRetryable: [''] }, 'retry.nonRetryable must be a list of at most 100 error codes'],
    [{ nonRetryable: Array(101).fill('x') }, 'retry.nonRetryable must be a list'],
    [{ delay: 5 }, 'retry.delay is not an option'],
  ])('%j', (options, message) => expect(problems(options)).toEqual([expect.stringContaining(message)]));
});
