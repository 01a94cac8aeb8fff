/**
 * Owns the tests of masking: a secret that is echoed is masked in every promised form, in texts, values and errors; one that is too short
 * is not.
 */

import { describe, expect, it } from 'vitest';
import { EchoMask } from './echo-mask.ts';

const SECRET = `pa/ss "wörd" & <42>`;
const MASK = new EchoMask([SECRET, 'short', 'abcdefgh', '4111111111111111'], '[masked]');

const json = JSON.stringify(SECRET).slice(1, -1);
const ascii = json.replace('ö', '\\u00f6');
const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('a secret that comes back', () => {
  it.each([
    ['as it is', SECRET],
    ['in JSON', json],
    ['in JSON with escaped slashes', json.replace('/', '\\/')],
    ['in JSON of ASCII alone', ascii],
    ['in JSON within JSON', JSON.stringify(json).slice(1, -1)],
    ['in an address', encodeURIComponent(SECRET)],
    ['in an address, in small letters', encodeURIComponent(SECRET).replaceAll(/%../g, (each) => each.toLowerCase())],
    ['in a form', new URLSearchParams({ a: SECRET }).toString().slice(2)],
    ['in HTML', 'pa/ss &quot;wörd&quot; &amp; &lt;42&gt;'],
    ['in base64', base64(SECRET).replaceAll('=', '')],
    ['in base64url', Buffer.from(SECRET).toString('base64url')],
    ['in JSON as Go writes it', json.replace('&', '\\u0026').replace('<', '\\u003c').replace('>', '\\u003e')],
    ['in JSON of ASCII, in capitals', json.replace('ö', '\\u00F6')],
    [
      'in an address, each byte',
      Buffer.from(SECRET)
        .toString('hex')
        .replaceAll(/../g, (code) => `%${code}`),
    ],
    ['in HTML by number', 'pa/ss &#34;wörd&#34; &amp; &lt;42&gt;'],
    ['in HTML by number in hexadecimal', 'pa/ss &#x22;wörd&#x22; &amp; &lt;42&gt;'],
    ['in hexadecimal', Buffer.from(SECRET).toString('hex')],
    ['in hexadecimal, in capitals', Buffer.from(SECRET).toString('hex').toUpperCase()],
  ])('is masked %s', (_form, text) => {
    expect(MASK.text(`got ${text}; bad`)).toBe('got [masked]; bad');
  });

  it('is masked in base64 of more than itself, but for a character at each end', () => {
    for (const before of ['u', 'us', 'ana', 'ana:']) {
      const encoded = base64(`${before}${SECRET}tail`);
      const masked = MASK.text(encoded);
      expect(masked).toContain('[masked]');
      expect(masked.replace('[masked]', '').length).toBeLessThan(encoded.length - base64(SECRET).length + 4);
    }
  });

  it('is masked with all around it where finding it would take long', () => {
    const mask = new EchoMask([`${'a'.repeat(10_000)}b`], '[masked]');
    expect(mask.text('a'.repeat(30_000))).toBe('[masked]');
    expect(mask.text('a'.repeat(1_000))).toBe('a'.repeat(1_000));
  });

  it('is masked in values, names of members and numbers among them, and nothing else is', () => {
    const value = { a: [`x${SECRET}x`, 4111111111111111, 42], [SECRET]: null, date: 'abcdefg' };
    expect(MASK.value(value)).toEqual({ a: ['x[masked]x', 0, 42], '[masked]': null, date: 'abcdefg' });
    expect(MASK.text('short')).toBe('short');
    expect(MASK.text('abcdefgabcdefghabcdefgh')).toBe('abcdefg[masked][masked]');
  });

  it('is masked in an error, its class kept: message, stack, fields and causes', () => {
    class OwnError extends Error {
      readonly detail = `Key (card)=(${SECRET}) exists`;
      readonly details = { excerpt: [SECRET] };
    }
    const error = new OwnError(`no ${SECRET}`, { cause: new AggregateError([new Error(SECRET)], SECRET) });
    error.cause = Object.assign(error.cause as Error, { round: error });
    const masked = MASK.error(error) as OwnError & { readonly cause: AggregateError };
    expect(masked).toBeInstanceOf(OwnError);
    expect(masked.message).toBe('no [masked]');
    expect(masked.stack).not.toContain(SECRET);
    expect(masked.detail).toBe('Key (card)=([masked]) exists');
    expect(masked.details).toEqual({ excerpt: ['[masked]'] });
    expect(masked.cause.message).toBe('[masked]');
    expect((masked.cause.errors[0] as Error).message).toBe('[masked]');
    expect(MASK.error(`thrown ${SECRET}`)).toBe('thrown [masked]');
  });

  it('is masked where a cut went through it', () => {
    expect(MASK.cutText(`got ${SECRET.slice(0, 9)}`)).toBe('got ');
    expect(MASK.cutText('got pa/s')).toBe('got pa/s');
  });

  it('is masked with all around it where much resembles the beginning of many', () => {
    const many = new EchoMask(
      Array.from({ length: 500 }, (_, at) => `secret-number-${at}-of-many`),
      '[masked]',
    );
    const alike = 'secret-number-'.repeat(4_000);
    expect(many.text(alike)).toBe('[masked]');
    expect(many.text(alike.slice(0, 56))).toBe(alike.slice(0, 56));
  });
});
