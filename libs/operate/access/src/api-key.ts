/**
 * Owns the form of an API key, `tmk_ID_SECRET`, and how a secret is stored and compared. It uses letters of base 32 alone: a double click
 * selects the whole key, and scanners know it by its prefix.
 *
 * K1 The secret is shown once. Only its SHA-256 is stored: it has 256 random bits, so nobody can guess it offline, and a slow hash would
 *    cost every request what only passwords need.
 * K2 The id is public: it names the key in lists, logs and audit.
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** Parts of an API key: characters of its public id and of its secret, five random bits each. */
const KEY_ID_CHARS = 16;
const KEY_SECRET_CHARS = 52;

export const KEY_PREFIX = 'tmk_';
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const FORM = new RegExp(`^${KEY_PREFIX}([${ALPHABET}]{${KEY_ID_CHARS}})_([${ALPHABET}]{${KEY_SECRET_CHARS}})$`);
const ID_FORM = new RegExp(`^[${ALPHABET}]{${KEY_ID_CHARS}}$`);

export interface ApiKey {
  readonly id: string;
  readonly secret: string;
}

/** Maps five bits of each random byte to a letter, so that none is likelier than another. */
const letters = (count: number): string =>
  Array.from(randomBytes(count), (byte) => ALPHABET[byte % ALPHABET.length]).join('');

export const newApiKey = (): ApiKey => ({ id: letters(KEY_ID_CHARS), secret: letters(KEY_SECRET_CHARS) });

export const apiKeyText = ({ id, secret }: ApiKey): string => `${KEY_PREFIX}${id}_${secret}`;

/** Undefined: not a key. */
export function parseApiKey(text: string): ApiKey | undefined {
  const [, id, secret] = FORM.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

export const isKeyId = (text: string): boolean => ID_FORM.test(text);

/** 64 lower-case hex digits. */
export const hashOfSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** Takes the same time for any two (hashes have one length). */
export const isSameHash = (one: string, other: string): boolean => {
  const [a, b] = [Buffer.from(one, 'hex'), Buffer.from(other, 'hex')];
  return a.length === b.length && timingSafeEqual(a, b);
};
