/** Owns reading the JSON body of a request: what is no JSON, too deep, or meant to change prototypes is refused before anything sees it. Pure. */

import { InvalidError, LimitError } from '@tidemark/core';
import { JSON_DEPTH_MAX } from './limits.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPENING = new Set([0x5b, 0x7b]);
const CLOSING = new Set([0x5d, 0x7d]);

/** Throws `LimitError` (`body-too-deep`): others would read it by recursion. */
export function checkDepth(bytes: Uint8Array): void {
  if (isTooDeep(bytes)) throw new LimitError('body-too-deep', `The body is more than ${JSON_DEPTH_MAX} levels deep.`);
}

/** Counts brackets outside of strings. */
export function isTooDeep(bytes: Uint8Array): boolean {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!;
    if (inString) {
      if (byte === BACKSLASH) at++;
      else if (byte === QUOTE) inString = false;
    } else if (byte === QUOTE) inString = true;
    else if (CLOSING.has(byte)) depth--;
    else if (OPENING.has(byte) && ++depth > JSON_DEPTH_MAX) return true;
  }
  return false;
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Throws `InvalidError` (`body-invalid`). */
export function textOf(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new InvalidError('body-invalid', 'The body is not UTF-8.');
  }
}

/** What no text may hold that is stored: NUL, and halves of characters. */
const UNSTORABLE = /\0|\p{Cs}/u;

/** Throws `InvalidError` (`body-invalid`), naming the place. */
export function checkTexts(value: unknown, place = 'body'): void {
  if (typeof value === 'string') {
    if (UNSTORABLE.test(value)) {
      throw new InvalidError(
        'body-invalid',
        `${place.slice(0, 200)}: has a NUL character or half of a character, which can't be stored.`,
      );
    }
  } else if (Array.isArray(value)) {
    for (const [at, each] of value.entries()) checkTexts(each, `${place}[${at}]`);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, each] of Object.entries(value)) {
      checkTexts(key, `${place}, a key`);
      checkTexts(each, `${place}.${key}`);
    }
  }
}

/** Of a body that was refused. Throws `InvalidError` (`request-invalid`) where it is JSON: then it was refused for a key that changes prototypes. */
export function refuseKeys(text: string): void {
  try {
    JSON.parse(text);
  } catch {
    return;
  }
  throw new InvalidError(
    'request-invalid',
    'The request is wrong: body: keys named __proto__, and constructor with prototype in it, are refused. Name them otherwise.',
  );
}
