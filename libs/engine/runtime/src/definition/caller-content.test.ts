/** Content of callers with a sealed text is refused, by its field and place; nothing else is. */

import { describe, expect, it } from 'vitest';
import { refuseSealed } from './caller-content.ts';

const ID = '019abcde-0000-7000-8000-000000000001';
const SEALED = `secret:1:${'p'.repeat(22)}:${ID}:${'A'.repeat(60)}`;

describe('content of a caller', () => {
  it('is refused with a sealed text in it', () => {
    const round: { self?: unknown; deep: unknown } = { deep: [{ 'a b': [0, SEALED] }] };
    round.self = round;
    expect(() => refuseSealed('value', round)).toThrow(
      expect.objectContaining({ code: 'secret-sealed', details: { field: 'value', place: '/deep/0/a b/1' } }),
    );
    expect(() => refuseSealed('value', SEALED)).toThrow(/^value: /);
  });

  it('passes with anything else', () => {
    for (const value of [undefined, null, 7, 'secret:me', `see ${SEALED}`, { a: ['x'], b: '[secret]' }, new Map()]) {
      expect(() => refuseSealed('value', value)).not.toThrow();
    }
  });
});
