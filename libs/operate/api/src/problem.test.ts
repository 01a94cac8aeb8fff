/** What callers are told of failures: what they can mend in words, what they can't by its code alone. */

import { InvalidError, UnavailableError } from '@tidemark/core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { parsed } from './operation.ts';
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

test.each([
  [z.string().min(1), '', 'Give at least 1 character'],
  [z.string().max(200), 'x'.repeat(201), 'Give at most 200 characters'],
  [z.array(z.string()).max(3), ['', '', '', ''], 'Give at most 3 entries'],
  [z.int().min(1), 0, 'Give at least 1'],
  [z.string().min(1, 'say it in words'), '', 'say it in words'],
  [z.string(), 5, 'Invalid input: expected string, received number'],
])('a value outside of its bounds is answered in plain words: %#', (field, value, words) => {
  const check = () => parsed('body', z.object({ field }), { field: value });
  expect(check).toThrow(`The request is wrong: body.field: ${words}.`);
});
