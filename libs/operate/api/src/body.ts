/** Owns which JSON a body may hold: it refuses anything that is no JSON, can't be stored, or would change prototypes, before anything else sees it. Pure. */

import { InvalidError } from '@tidemark/core';

/** Every refused body contains one of these; halves of characters come by escapes alone, since the bytes are UTF-8. */
const SUSPECT = /\\u|__proto__|constructor/;

/** The caller has checked its bounds. Throws `InvalidError` (`request-invalid`, `body-invalid`), and quotes nothing of it: it may hold a secret. */
export function bodyOf(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw wrong(text.trim() === '' ? 'it is empty' : 'it is not valid JSON');
  }
  if (SUSPECT.test(text)) checkTexts(value);
  return value;
}

/** Characters that no stored text may hold: NUL, and halves of characters. */
const UNSTORABLE = /\0|\p{Cs}/u;

/** Checks a value that is not deep. Throws `InvalidError` (`body-invalid`, `request-invalid`), naming the place. */
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
      if (key === '__proto__' || (key === 'constructor' && hasPrototype(each))) {
        throw wrong('keys named __proto__, and constructor with prototype in it, are refused. Name them otherwise');
      }
      checkTexts(key, `${place}, a key`);
      checkTexts(each, `${place}.${key}`);
    }
  }
}

const hasPrototype = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype');

const wrong = (problem: string): InvalidError =>
  new InvalidError('request-invalid', `The request is wrong: body: ${problem}.`);
