/** What callers are told of failures: what they can mend in words, what they can't by its code alone. */

import { InvalidError, UnavailableError } from '@tidemark/core';
import { expect, test } from 'vitest';
import { reportedOf } from './problem.ts';

test('where servers behind are, and what they said, is for the log alone', () => {
  const said = 'The store at postgres://db.internal:5432/tide does not answer: connect ECONNREFUSED 10.0.7.3:5432';
  for (const code of ['store-unavailable', 'log-unavailable', 'redis-unavailable', 'keys-unavailable', 'disk-full']) {
    const { problem, retryAfterS, isFault } = reportedOf(new UnavailableError(code, said, { address: 'db.internal' }));
    expect(problem).toMatchObject({ status: 503, code });
    expect(JSON.stringify(problem)).not.toMatch(/internal|10\.0|5432|tide\b/);
    expect([isFault, retryAfterS! > 0]).toEqual([true, true]);
  }
});

test('what a caller can mend or wait for is told as it is', () => {
  expect(reportedOf(new UnavailableError('workflow-starting', 'It starts.')).problem.detail).toBe('It starts.');
  expect(reportedOf(new InvalidError('request-invalid', 'query.after: no.')).problem.detail).toBe('query.after: no.');
});
