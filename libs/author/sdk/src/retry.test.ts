import { describe, expect, it } from 'vitest';
import { STEP_RETRY_DEFAULT } from './limits.ts';
import { retryPolicy, retryProblems } from './retry.ts';

const problems = (options: object) => retryProblems(options, retryPolicy(options, STEP_RETRY_DEFAULT));

describe('retryPolicy', () => {
  it('takes from the base what is left out', () => {
    expect(retryPolicy(undefined, STEP_RETRY_DEFAULT)).toEqual(STEP_RETRY_DEFAULT);
    expect(retryPolicy({ attempts: 2 }, STEP_RETRY_DEFAULT)).toEqual({ ...STEP_RETRY_DEFAULT, attempts: 2 });
  });

  it('knows errors that no further attempt can mend, in place of the base', () => {
    const base = { ...STEP_RETRY_DEFAULT, nonRetryable: ['a'] };
    expect(retryPolicy({}, base).nonRetryable).toEqual(['a']);
    expect(retryPolicy({ nonRetryable: ['b'] }, base).nonRetryable).toEqual(['b']);
  });

  it('waits as long as the first delay says, even beyond the base', () => {
    expect(retryPolicy({ firstDelayMs: 90_000 }, STEP_RETRY_DEFAULT).maxDelayMs).toBe(90_000);
  });
});

describe('retryProblems', () => {
  it('finds none in a sound policy', () => expect(problems({ attempts: 1, firstDelayMs: 0, jitter: 0 })).toEqual([]));

  it.each([
    [{ attempts: 0 }, 'retry.attempts must be a whole number between 1 and 1000'],
    [{ attempts: 1.5 }, 'retry.attempts must be a whole number between 1 and 1000'],
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
