/**
 * Owns the tests of fields that are sealed one by one: only their workflow's key opens them, a value has one text in each place, and no
 * other text is taken for one.
 */

import { generateKeySync } from 'node:crypto';
import type { Json } from '@tidemark/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  mapSecrets,
  maskSecrets,
  maskSecretsIn,
  openSecret,
  sealedSecret,
  sealSecret,
  secretPlace,
} from './secret-fields.ts';

const KEY = { id: '019abcde-0000-7000-8000-000000000001', key: generateKeySync('aes', { length: 256 }) };
const OTHER = { id: '019abcde-0000-7000-8000-000000000002', key: generateKeySync('aes', { length: 256 }) };
const BOUND = JSON.stringify(['acme', 'w']);
const PLACE = secretPlace('belief', ['cards', '*']);
const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);

describe('a sealed field', () => {
  it('comes back as it was, and is the same text each time', () => {
    fc.assert(
      fc.property(json, (value) => {
        const text = sealSecret(value, BOUND, PLACE, KEY);
        expect(openSecret(text, BOUND, KEY.key)).toEqual(value);
        expect(sealSecret(value, BOUND, PLACE, KEY)).toBe(text);
        expect(sealedSecret(text)).toEqual({ key: KEY.id, place: PLACE });
      }),
    );
  });

  it('has another nonce for another value, workflow, purpose, path, or key', () => {
    const nonceOf = (text: string): string =>
      Buffer.from(text.split(':').at(-1)!, 'base64url').subarray(0, 12).toString('hex');
    const texts = [
      sealSecret('a', BOUND, PLACE, KEY),
      sealSecret('b', BOUND, PLACE, KEY),
      sealSecret('a', JSON.stringify(['acme', 'v']), PLACE, KEY),
      sealSecret('a', BOUND, secretPlace('input', ['cards', '*']), KEY),
      sealSecret('a', BOUND, secretPlace('belief', ['cards']), KEY),
      sealSecret('a', BOUND, PLACE, OTHER),
    ];
    expect(new Set(texts.map(nonceOf)).size).toBe(6);
    // The boundary between workflow and value is part of it.
    expect(nonceOf(sealSecret('b', `${BOUND}"a"`, PLACE, KEY))).not.toBe(nonceOf(sealSecret('b', BOUND, PLACE, KEY)));
  });

  it('opens under no other key, for no other workflow, and not once changed', () => {
    const text = sealSecret({ card: '4111' }, BOUND, PLACE, KEY);
    expect(openSecret(text, BOUND, OTHER.key)).toBeUndefined();
    expect(openSecret(text, JSON.stringify(['acme', 'v']), KEY.key)).toBeUndefined();
    const at = text.length - 8;
    const changed = `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`;
    expect(openSecret(changed, BOUND, KEY.key)).toBeUndefined();
    expect(openSecret(text.slice(0, 70), BOUND, KEY.key)).toBeUndefined();
    // The place in the text is authenticated.
    const elsewhere = text.replace(PLACE, secretPlace('belief', ['note']));
    expect(openSecret(elsewhere, BOUND, KEY.key)).toBeUndefined();
    expect(openSecret(text.replace(`1:${PLACE}:`, ''), BOUND, KEY.key)).toBeUndefined();
  });
});

describe('values that hold some', () => {
  const text = sealSecret('4111', BOUND, PLACE, KEY);
  const value: Json = { card: text, items: [{ key: text }, 'secret: not one', null, 7], name: 'secret:me' };

  it('are masked where they are, in values and in text', () => {
    const masked = { card: '[secret]', items: [{ key: '[secret]' }, 'secret: not one', null, 7], name: 'secret:me' };
    expect(maskSecrets(value)).toEqual(masked);
    expect(JSON.parse(maskSecretsIn(JSON.stringify(value)))).toEqual(masked);
  });

  it('end where they go round in circles, for whoever checks them to say so', () => {
    const round: Record<string, unknown> = { text };
    round.again = round;
    expect(mapSecrets(round as Json, () => 'x')).toMatchObject({ text: 'x' });
  });

  it('are left untouched where there is none', () => {
    const plain: Json = { a: [1, { b: 'secret' }], ['__proto__']: { c: 1 } };
    expect(maskSecrets(plain)).toBe(plain);
    const odd = JSON.parse(`{"__proto__": "${text}", "a": 1}`) as Json;
    expect(JSON.stringify(mapSecrets(odd, () => 'x'))).toBe('{"__proto__":"x","a":1}');
  });
});
