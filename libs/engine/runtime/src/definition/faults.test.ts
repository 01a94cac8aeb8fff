/** Which faults pass, are final, or may be either: the cases in which two rules meet. */

import { REFUSED_STATUSES, RETRY_AFTER_MAX_MS } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { faultOf } from './faults.ts';
import { NotDoneError } from './step-errors.ts';

const answered = (status: number, headers: Record<string, string> = {}): Error =>
  Object.assign(new Error(`status ${status}`), { status, headers });
const kindOf = (error: unknown, nonRetryable: readonly string[] = []): string =>
  faultOf(error, { nonRetryable, passing: [] }, 0).kind;

describe('a status', () => {
  it('that refuses is final, but for an answer that asks to come back', () => {
    for (const status of [...REFUSED_STATUSES, 501, 505]) {
      expect([status, kindOf(answered(status))]).toEqual([status, 'final']);
      expect([status, kindOf(answered(status, { 'retry-after': '60' }))]).toEqual([status, 'passing']);
    }
    expect(REFUSED_STATUSES.has(412)).toBe(true);
    const limited = new NotDoneError('limited', { status: 403, retryAfterMs: 366 * RETRY_AFTER_MAX_MS });
    expect(faultOf(limited, { nonRetryable: [], passing: [] }, 0)).toMatchObject({
      ...{ kind: 'passing', retryAfterMs: RETRY_AFTER_MAX_MS },
    });
  });
});

it('a model that is refused is final, and ends the run only where its policy names it', () => {
  const refused = Object.assign(new NotDoneError('the key has expired', { status: 401 }), { code: 'model-refused' });
  expect(kindOf(refused)).toBe('final');
  expect(kindOf(refused, ['model-refused'])).toBe('named');
});

describe('what a policy names as final', () => {
  const wrapped = Object.assign(new Error('no'), {
    code: 'own',
    cause: Object.assign(new Error('inner'), { code: 'inner', status: 404, type: 'kind' }),
  });

  it.each([
    [wrapped, 'own', true],
    [wrapped, 'Error', false],
    [wrapped, 'inner', false],
    [wrapped, '404', false],
    [Object.assign(new Error('no'), { status: 429 }), '429', true],
    [new RangeError('no'), 'RangeError', true],
    [new Error('no'), 'undefined', false],
    [null, 'undefined', false],
  ])('%s, %s: %s', (error, name, isNamed) => expect(kindOf(error, [name]) === 'named').toBe(isNamed));
});
