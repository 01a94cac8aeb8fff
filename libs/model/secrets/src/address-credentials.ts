/**
 * Owns removing credentials from addresses, wherever they are in a text: everything before the last `@` in front of a path, since passwords
 * are often written unescaped and may contain `@`. Pure.
 */

const AUTHORITY = /(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s"'<>?#]{0,500}@/gi;

/** `postgres://ana:secret@db/x` as `postgres://[redacted]@db/x`. */
export const withoutCredentials = (text: string): string => text.replace(AUTHORITY, '$1[redacted]@');
