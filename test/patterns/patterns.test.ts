/**
 * No pattern of the project takes more than time in proportion to a text: each is fed what makes its own repetitions slow, at growing
 * sizes. So no caller, model or receiver finds a text that stops a process.
 */

import { describe, expect, it } from 'vitest';
import { slowOn } from './growth.ts';
import { patternsOf } from './sources.ts';

const patterns = patternsOf(['libs/**/src/**/*.{ts,tsx}', 'services/*/src/**/*.ts', 'examples/*/src/**/*.ts']);

describe('the patterns of the project', () => {
  it('take time in proportion to the text', () => {
    const slow = patterns.flatMap(({ file, source, flags }) => {
      const found = slowOn(source, flags);
      return found === undefined ? [] : [{ file, pattern: `/${source}/${flags}`, ...found }];
    });
    expect(patterns.length).toBeGreaterThan(300);
    expect(slow).toEqual([]);
  });

  it.each([
    ['^(a+)+$', ''],
    ['^(?:.*[^A-Za-z])?(?:[A-Za-z0-9]*[a-z](?=[A-Z]))?(?:password|secret)$', 'i'],
  ])('is a measure that finds /%s/%s', (source, flags) => {
    expect(slowOn(source, flags)).toBeDefined();
  });
});
