/**
 * Owns the form of an effect's key in a header. Invariant: distinct keys have distinct forms, so a key with characters that a header can't
 * hold is never confused with another.
 */

/**
 * `plain`: the key itself. `structured`: quoted, a string of RFC 9651, as draft-ietf-httpapi-idempotency-key-header asks. `digest`: 30 hex
 * digits of its SHA-256, which `defineEffect` makes.
 */
export type KeyFormat = 'plain' | 'structured' | 'digest';

/** The key as a header can hold it: percent-encodes everything but visible ASCII, and `%`, `"` and `\`. */
export const headerKey = (key: string): string =>
  key.replaceAll(/[^!#-$&-[\]-~]/gu, (char) =>
    [...new TextEncoder().encode(char)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );

/** The header's value. */
export const keyHeaderValue = (key: string, format: KeyFormat): string =>
  format === 'structured' ? `"${headerKey(key)}"` : headerKey(key);
