/** When a receiver may be called again: every form that receivers send, and what none should. */

import { describe, expect, it } from 'vitest';
import { RETRY_AFTER_MAX_MS, retryAfterMs } from './retry-after.ts';

const NOW_MS = Date.parse('2026-11-24T10:00:00Z');
const asked = (headers: unknown, isLimited = true): number | undefined => retryAfterMs(headers, NOW_MS, isLimited);

describe('retryAfterMs', () => {
  it.each([
    [{ 'Retry-After': '120' }, 120_000],
    [{ 'retry-after': 'Tue, 24 Nov 2026 10:04:00 GMT' }, 240_000],
    [{ 'retry-after-ms': '1500.2', 'retry-after': '9' }, 1_501],
    [{ 'x-ms-retry-after-ms': '700' }, 700],
    [{ 'x-ratelimit-reset-requests': '6m0s' }, 360_000],
    [{ 'x-ratelimit-reset-tokens': '20ms' }, 20],
    [{ 'x-ratelimit-reset': '1795514700', 'x-ratelimit-remaining': '0' }, 300_000],
    [{ 'ratelimit-reset': '30' }, 30_000],
    [{ 'anthropic-ratelimit-tokens-reset': '2026-11-24T10:01:00Z' }, 60_000],
    [new Headers({ 'Retry-After': '2' }), 2_000],
  ])('reads %j', (headers, ms) => expect(asked(headers)).toBe(ms));

  it('of several limits takes the latest that is used up, else the soonest', () => {
    const resets = {
      'x-ratelimit-reset-requests': '1s',
      'x-ratelimit-reset-tokens': '1h2m3s',
      'x-ratelimit-reset-x': '9h',
    };
    expect(asked(resets)).toBe(1_000);
    const used = { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-remaining-tokens': '0' };
    expect(asked({ ...resets, ...used })).toBe(3_723_000);
  });

  it('takes a reset for a wait only where a limit is reached', () => {
    expect(asked({ 'x-ratelimit-reset': '30' }, false)).toBeUndefined();
    expect(asked({ 'retry-after': '30' }, false)).toBe(30_000);
  });

  it.each([
    ['a year', { 'retry-after': '31536000' }, RETRY_AFTER_MAX_MS],
    ['a date in a year', { 'retry-after': 'Wed, 24 Nov 2027 10:00:00 GMT' }, RETRY_AFTER_MAX_MS],
    ['more than a number holds', { 'retry-after': '9'.repeat(64) }, RETRY_AFTER_MAX_MS],
    ['the past', { 'retry-after': 'Tue, 24 Nov 2020 10:00:00 GMT' }, 0],
    ['a reset in the past', { 'anthropic-ratelimit-tokens-reset': '2020-11-24T10:01:00Z' }, 0],
    ['less than nothing', { 'retry-after': '-5' }, undefined],
    ['garbage', { 'retry-after': 'soon', 'retry-after-ms': 'NaN', 'ratelimit-reset': 'x' }, undefined],
    ['a very long value', { 'retry-after': '1'.repeat(10_000) }, undefined],
    ['an empty one', { 'retry-after': '', 'ratelimit-reset': '' }, undefined],
    ['no date of HTTP', { 'retry-after': '2026'.concat('-13-45') }, undefined],
    ['no headers', 'retry-after: 5', undefined],
    ['null', null, undefined],
  ])('bounds %s', (_, headers, ms) => expect(asked(headers)).toBe(ms));

  it.each([
    ['a list of no pairs', () => [1, 2]],
    ['a set of nothing', () => new Set([null])],
    ['a getter that throws', () => Object.defineProperty({}, 'a', { enumerable: true, get: () => BigInt('x') })],
    ['a value without a text', () => ({ 'retry-after': Object.create(null), a: Symbol('a') })],
    ['a name without a text', () => [[Object.create(null), '1']]],
    ['a proxy that throws', () => new Proxy({}, { ownKeys: () => BigInt('x') as never })],
    [
      'an endless list',
      function* () {
        for (;;) yield ['a', '1'];
      },
    ],
  ])('survives %s', (_, make) => expect(asked(make())).toBeUndefined());

  it('reads a value that is given once in a list, and a number', () => {
    expect(asked({ 'retry-after': ['5'] })).toBe(5_000);
    expect(asked({ 'retry-after': 5 })).toBe(5_000);
  });
});
