/** What is sealed opens with its key and in its place alone (E2), byte for byte; and a process without keys still folds it (E1). */

import { generateKeySync } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeRecord } from './record.ts';
import { envelope, recordOf } from './record-fixture.ts';
import {
  openRecord,
  openText,
  SEALING_MAX_BYTES,
  sealedWith,
  sealRecord,
  sealText,
  textSealedWith,
} from './sealing.ts';

const ID = '01890000-0000-7000-8000-000000000001';
const key = { id: ID, key: generateKeySync('aes', { length: 256 }) };
const other = { id: ID, key: generateKeySync('aes', { length: 256 }) };

const wrong = expect.objectContaining({ code: 'sealed-wrong' });

describe('a record', () => {
  it('is opened to the bytes that it was', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 2_000 }), (payload) => {
        const record = recordOf(payload);
        const sealed = sealRecord(record, key);
        expect(sealedWith(sealed)).toBe(ID);
        expect(Buffer.compare(openRecord(sealed, key.key), record)).toBe(0);
        expect(sealed.length - record.length).toBeLessThanOrEqual(SEALING_MAX_BYTES);
      }),
    );
  });

  it('hides its payload, and packs it first', () => {
    const record = recordOf(Buffer.from(JSON.stringify({ said: 'a secret '.repeat(200) })));
    const sealed = Buffer.from(sealRecord(record, key));
    expect(sealed.includes('secret')).toBe(false);
    expect(sealed.length).toBeLessThan(record.length / 2);
    expect(Buffer.compare(sealed, sealRecord(record, key))).not.toBe(0);
  });

  it('folds without a key: its envelope is clear', () => {
    const plain = decodeRecord(recordOf(Buffer.from('{"a":1}')));
    const sealed = decodeRecord(sealRecord(recordOf(Buffer.from('{"a":1}')), key));
    expect(sealed).toMatchObject({ kind: 'event', envelope: { ...envelope, v: 2 } });
    expect(plain).toMatchObject({ kind: 'event', envelope });
  });

  it('does not open changed, cut, under another header, or with another key', () => {
    const sealed = Buffer.from(sealRecord(recordOf(Buffer.from(`{"a":"${'b'.repeat(400)}"}`)), key));
    expect(() => openRecord(sealed, other.key)).toThrow(wrong);
    for (let at = sealed.indexOf(0x0a) + 1; at < sealed.length; at += 7) {
      const changed = Buffer.from(sealed);
      changed[at]! ^= 1;
      expect(() => openRecord(changed, key.key)).toThrow(wrong);
      expect(() => openRecord(sealed.subarray(0, at), key.key)).toThrow(wrong);
    }
    for (const [from, to] of [
      ['"workflow":"w1"', '"workflow":"w2"'],
      ['"epoch":2', '"epoch":3'],
      ['"ordinal":4', '"ordinal":5'],
    ] as const) {
      const moved = Buffer.from(sealed.toString('latin1').replace(from, to), 'latin1');
      expect(decodeRecord(moved).kind).toBe('event');
      expect(() => openRecord(moved, key.key)).toThrow(wrong);
    }
  });

  it('whose key was destroyed has an empty payload, and the rest as it was', () => {
    const opened = decodeRecord(openRecord(sealRecord(recordOf(Buffer.from('{"a":1}')), key), null));
    expect(opened).toMatchObject({ kind: 'event', envelope });
    expect(Buffer.from((opened as { payload: Uint8Array }).payload).toString()).toBe('{}');
  });

  it('that is no event of ours, or sealed, stays as it is', () => {
    for (const value of ['', 'x', '\n', '{"v":1,\n', '{"v":1,"payload":"json"} \nnull']) {
      const bytes = Buffer.from(value);
      expect(sealRecord(bytes, key)).toBe(bytes);
      expect(sealedWith(bytes)).toBeUndefined();
    }
    const sealed = sealRecord(recordOf(Buffer.from('null')), key);
    expect(sealRecord(sealed, key)).toBe(sealed);
  });
});

describe('a text', () => {
  it('opens in its own place, with its own key', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 400 }), (text) => {
        const sealed = sealText(text, 'texts/w1/d', key);
        expect(textSealedWith(sealed)).toBe(ID);
        expect(openText(sealed, 'texts/w1/d', key.key)).toBe(text);
        expect(() => openText(sealed, 'texts/w2/d', key.key)).toThrow(wrong);
        expect(() => openText(sealed, 'texts/w1/d', other.key)).toThrow(wrong);
      }),
    );
  });

  it('that is none, or damaged, is told as such', () => {
    expect(textSealedWith('{"a":1}')).toBeUndefined();
    const changed = `${sealText('secret', 'p', key)}%`;
    for (const text of ['sealed:', `sealed:${ID}:`, `sealed:${ID}:AAAA`, `sealed:${ID}:%%`, changed]) {
      expect(() => openText(text, 'p', key.key)).toThrow(wrong);
    }
    expect(openText(sealText('secret', 'p', key), 'p', null)).toBe('{}');
  });
});
