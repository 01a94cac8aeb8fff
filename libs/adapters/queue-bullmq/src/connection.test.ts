/** Owns the tests of printed Redis addresses: they say where it is, and nothing of its credentials, however they were written. */

import { describe, expect, test } from 'vitest';
import { addressOf } from './connection.ts';

describe('an address of Redis', () => {
  test('is shown without its credentials', () => {
    expect(addressOf('rediss://ana:hunter2@cache.example:6380/3')).toBe('rediss://cache.example:6380/3');
    expect(addressOf('redis://ana:hunter2@x@cache')).toBe('redis://cache');
    expect(addressOf('redis://ana:7%2Fhunter2@cache')).toBe('redis://cache');
  });

  test.each([
    'redis://ana:7/hunter2@cache',
    'redis://ana:7?hunter2@cache',
    'redis://ana:hunter2/7@cache',
    'hunter2@cache',
  ])('is refused without being repeated where it can not be told from a password: %s', (url) => {
    expect(() => addressOf(url)).toThrow(expect.objectContaining({ code: 'redis-url-invalid' }));
    expect(() => addressOf(url)).not.toThrow(/hunter2/);
  });
});
