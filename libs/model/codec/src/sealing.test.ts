/**
 * Owns the tests of sealing: what is sealed opens only with its key and in its place (E2), byte for byte; and a process without keys still
 * folds it (E1).
 */

import { createCipheriv, generateKeySync, type KeyObject } from 'node:crypto';
import { snappyCompress } from '@platformatic/wasm-utils';
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
  UNSEALED_MAX_BYTES,
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

  it.each([
    ['tiny', 3, 0],
    ['small', 100, 2],
    ['large', 1_000, 1],
  ])('that is %s is opened to the bytes that it was', (_, count, form) => {
    const record = recordOf(Buffer.from(JSON.stringify('a word '.repeat(count))));
    const sealed = sealRecord(record, key);
    expect(sealed[sealed.indexOf(0x0a) + 1]).toBe(form);
    expect(Buffer.compare(openRecord(sealed, key.key), record)).toBe(0);
  });

  it('that unpacks to more than an event has is not opened', () => {
    const bomb = sealRecord(Buffer.concat([recordOf(Buffer.from('0')), Buffer.alloc(UNSEALED_MAX_BYTES)]), key);
    expect(bomb.length).toBeLessThan(10_000);
    expect(() => openRecord(bomb, key.key)).toThrow(wrong);
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

/** A text sealed in this form by someone who has the key. */
function sealedAs(
  form: number,
  body: Uint8Array,
  { id, key: by }: { readonly id: string; readonly key: KeyObject },
): string {
  const nonce = Buffer.alloc(12, form);
  const cipher = createCipheriv('aes-256-gcm', by, nonce, { authTagLength: 16 });
  cipher.setAAD(Buffer.from('p')).setAAD(Buffer.from([form]));
  const sealed = [Buffer.from([form]), nonce, cipher.update(body), cipher.final(), cipher.getAuthTag()];
  return `sealed:${id}:${Buffer.concat(sealed).toString('base64')}`;
}

it('what is packed in no known form, or claims to be longer than it can be, does not open', () => {
  expect(openText(sealedAs(0, Buffer.from('secret'), key), 'p', key.key)).toBe('secret');
  const claim = Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f, 0]);
  const long = snappyCompress(Buffer.alloc(100_000));
  for (const [form, body] of [
    [3, Buffer.from('secret')],
    [2, claim],
    [2, long],
    [2, Buffer.alloc(0)],
    [1, claim],
  ] as const) {
    expect(() => openText(sealedAs(form, body, key), 'p', key.key)).toThrow(wrong);
  }
});
