/** Priority and limits from a definition and a caller, and what is refused. */

import type { Dispatch, Priority } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { checkedDispatch } from './dispatch.ts';

const of = (dispatch?: unknown, asked?: unknown) =>
  checkedDispatch(
    { name: 'audit', version: 2, dispatch: dispatch === undefined ? undefined : () => dispatch as Dispatch },
    {},
    asked as Priority | undefined,
  );

describe('how a workflow asks to be dispatched', () => {
  it('is nothing when nothing is said', () => {
    expect(of()).toBeUndefined();
    expect(of({})).toBeUndefined();
    expect(of({ priority: undefined, limits: [] })).toBeUndefined();
  });

  it('is what its definition says; a caller says another priority', () => {
    const limits = [{ key: 'k', concurrency: 1 }];
    expect(of({ priority: 4, limits })).toEqual({ priority: 4, limits });
    expect(of({ priority: 4, limits }, 1)).toEqual({ priority: 1, limits });
    expect(of(undefined, 5)).toEqual({ priority: 5 });
  });

  const rate = { count: 1, perMs: 1_000 };
  it.each([
    [
      'a priority of the definition',
      { priority: 0 },
      undefined,
      'priority-invalid',
      /^audit v2, priority: .*1 \(first\)/,
    ],
    ["a caller's priority", {}, 6, 'priority-invalid', /^priority: /],
    ['no list', { limits: 'k' }, undefined, 'limits-invalid', /audit v2, limits: return a list/],
    [
      'too many',
      { limits: Array.from({ length: 9 }, (_, n) => ({ key: `${n}`, concurrency: 1 })) },
      undefined,
      'limits-invalid',
      /at most 8/,
    ],
    ['no key', { limits: [{ concurrency: 1 }] }, undefined, 'limits-invalid', /limits\[0\]\.key/],
    [
      'a key with a line break',
      { limits: [{ key: 'a\nb', concurrency: 1 }] },
      undefined,
      'limits-invalid',
      /limits\[0\]\.key/,
    ],
    ['a long key', { limits: [{ key: 'k'.repeat(201), concurrency: 1 }] }, undefined, 'limits-invalid', /1 to 200/],
    ['nothing limited', { limits: [{ key: 'k' }] }, undefined, 'limits-invalid', /concurrency, or rate/],
    [
      'a concurrency of none',
      { limits: [{ key: 'k', concurrency: 0 }] },
      undefined,
      'limits-invalid',
      /limits\[0\]\.concurrency/,
    ],
    [
      'a rate of none',
      { limits: [{ key: 'k', rate: { ...rate, count: 0 } }] },
      undefined,
      'limits-invalid',
      /rate\.count/,
    ],
    [
      'a period of none',
      { limits: [{ key: 'k', rate: { ...rate, perMs: Number.NaN } }] },
      undefined,
      'limits-invalid',
      /period/,
    ],
    [
      'another scope',
      { limits: [{ key: 'k', concurrency: 1, scope: 'all' }] },
      undefined,
      'limits-invalid',
      /'tenant' or 'fleet'/,
    ],
    [
      'a key twice',
      {
        limits: [
          { key: 'k', concurrency: 1 },
          { key: 'k', rate },
        ],
      },
      undefined,
      'limits-invalid',
      /each key once/,
    ],
    ['null', { limits: [null] }, undefined, 'limits-invalid', /limits\[0\]\.key/],
  ])('%s is refused', (_, dispatch, asked, code, message) => {
    expect(() => of(dispatch, asked)).toThrow(expect.objectContaining({ name: 'InvalidError', code }));
    expect(() => of(dispatch, asked)).toThrow(message);
  });
});
