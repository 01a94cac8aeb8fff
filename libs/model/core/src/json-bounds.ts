/**
 * Owns what JSON may cost whoever takes it: how many values, how deep, how long a key, how large a whole, and numbers that
 * JavaScript keeps as they are written. Counts before anything is parsed, in one pass without recursion, so that a hostile
 * text costs what its bytes cost and no more: an empty object of two bytes takes some sixty once it is parsed. Whether a text
 * is JSON at all, the parser decides. Pure.
 */

import type { Json } from './belief.ts';
import { InvalidError, LimitError } from './errors.ts';

/** Objects and arrays that lie in one another. Within it, code that reads values by recursion needs no bound of its own. */
export const JSON_DEPTH_MAX = 64;
/** Values in one text: members, elements, objects and arrays. Parsed they take 10 MB, and some 10 ms. */
export const JSON_VALUES_MAX_COUNT = 100_000;
/** One key, in characters as they are written; in bytes of UTF-8 where it comes as such. */
export const JSON_KEY_MAX_CHARS = 1_024;
/** Members of one object: engines look long for a place among very many keys. */
export const JSON_MEMBERS_MAX_COUNT = 10_000;
/** The same of what user code returns, which may put what it was given into something larger. */
export const RETURNED_DEPTH_MAX = 96;
export const RETURNED_VALUES_MAX_COUNT = 200_000;
export const RETURNED_KEY_MAX_CHARS = 2_048;
export const RETURNED_MEMBERS_MAX_COUNT = 50_000;
/** The same of a stored payload, in which several such values stand beside and within one another. */
export const STORED_DEPTH_MAX = 128;
export const STORED_VALUES_MAX_COUNT = 400_000;
export const STORED_KEY_MAX_CHARS = 4_096;
export const STORED_MEMBERS_MAX_COUNT = 60_000;
/** One number, in characters as it is written. */
const NUMBER_MAX_CHARS = 64;
/** A whole number of no more digits is kept exactly. */
const EXACT_DIGITS = 15;

export interface JsonBounds {
  readonly valuesMaxCount: number;
  readonly depthMax: number;
  readonly keyMaxChars: number;
  readonly membersMaxCount: number;
  /** Whether a number that would change is refused; else it is rounded, as `JSON.parse` does. */
  readonly exactNumbers: boolean;
}

/** Of what callers and files bring. */
export const JSON_BOUNDS: JsonBounds = {
  valuesMaxCount: JSON_VALUES_MAX_COUNT,
  depthMax: JSON_DEPTH_MAX,
  keyMaxChars: JSON_KEY_MAX_CHARS,
  membersMaxCount: JSON_MEMBERS_MAX_COUNT,
  exactNumbers: true,
};

/** Of what user code returns: belief, outputs, inputs of tasks, responses. */
export const RETURNED_BOUNDS: JsonBounds = {
  valuesMaxCount: RETURNED_VALUES_MAX_COUNT,
  depthMax: RETURNED_DEPTH_MAX,
  keyMaxChars: RETURNED_KEY_MAX_CHARS,
  membersMaxCount: RETURNED_MEMBERS_MAX_COUNT,
  exactNumbers: false,
};

/** Of payloads in the log: what is written fits, so what doesn't was written by somebody else. Its numbers were exact when they came. */
export const STORED_BOUNDS: JsonBounds = {
  valuesMaxCount: STORED_VALUES_MAX_COUNT,
  depthMax: STORED_DEPTH_MAX,
  keyMaxChars: STORED_KEY_MAX_CHARS,
  membersMaxCount: STORED_MEMBERS_MAX_COUNT,
  exactNumbers: false,
};

/** Of what servers of others answer: it can't be sent otherwise, so large numbers in it are rounded. */
export const ANSWER_BOUNDS: JsonBounds = { ...JSON_BOUNDS, exactNumbers: false };

const QUOTE = 0x22;
const COMMA = 0x2c;
const MINUS = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

const codeAt = (piece: Uint8Array | string, at: number): number =>
  typeof piece === 'string' ? piece.charCodeAt(at) : piece[at]!;

const quoteFrom = (piece: Uint8Array | string, from: number): number =>
  typeof piece === 'string' ? piece.indexOf('"', from) : piece.indexOf(QUOTE, from);

/** Digits, `.`, `+`, `-`, `e` and `E`. */
const isNumberPart = (code: number): boolean =>
  (code >= ZERO && code <= NINE) || code === 0x2e || code === 0x2b || code === MINUS || code === 0x65 || code === 0x45;

/**
 * Counts a text that comes in pieces, bytes of UTF-8 or characters. Throws as soon as a bound is passed, so that no more need be
 * read: `LimitError` (`json-too-many-values`, `json-too-many-members`, `json-too-deep`, `json-key-too-long`, `json-number-too-long`), `InvalidError`
 * (`json-number-inexact`). `details.at` says where: bytes or characters before the place.
 */
export class JsonScanner {
  readonly #what: string;
  readonly #bounds: JsonBounds;
  #values = 0;
  #depth = 0;
  /** By level: members so far of the object that is open there; below 0: a list is. */
  readonly #members: number[] = [];
  #inString = false;
  #isEscaped = false;
  /** Whether the string is a key, and its length. */
  #isKey = false;
  #keyChars = 0;
  /** Whether the next token may be a key: after `{`, and after a comma in an object. */
  #keyDue = false;
  /** Whether the next token, unless it closes, is a value that is not counted yet. */
  #valueDue = true;
  #number = '';
  #seen = 0;

  /** `what` begins each message: "The body", "The signal 'go'". */
  constructor(what: string, bounds: JsonBounds = JSON_BOUNDS) {
    this.#what = what;
    this.#bounds = bounds;
  }

  /** Values so far. */
  get values(): number {
    return this.#values;
  }

  push(piece: Uint8Array | string): void {
    let at = 0;
    while (at < piece.length) {
      if (this.#inString) at = this.#string(piece, at);
      else if (this.#number !== '') at = this.#digits(piece, at);
      else {
        while (at < piece.length && codeAt(piece, at) <= SPACE) at++;
        if (at < piece.length) this.#token(codeAt(piece, at), at);
        at++;
      }
    }
    this.#seen += piece.length;
  }

  /** After the last piece: a number may end the text. */
  end(): void {
    if (this.#number !== '') this.#endNumber(0);
  }

  /** Takes what the piece has of a string; gives the place behind it. */
  #string(piece: Uint8Array | string, from: number): number {
    let quote = quoteFrom(piece, from);
    while (quote !== -1 && this.#isEscapedAt(piece, quote, from)) quote = quoteFrom(piece, quote + 1);
    const end = quote === -1 ? piece.length : quote;
    if (this.#isKey) {
      this.#keyChars += end - from;
      const { keyMaxChars } = this.#bounds;
      if (this.#keyChars > keyMaxChars)
        this.#refuse(
          from,
          'json-key-too-long',
          `a key longer than ${keyMaxChars} ${typeof piece === 'string' ? 'characters' : 'bytes'}`,
        );
    }
    if (quote === -1) {
      this.#isEscaped = this.#isEscapedAt(piece, end, from);
      return end;
    }
    this.#inString = false;
    this.#isEscaped = false;
    return quote + 1;
  }

  /** Whether an odd number of backslashes stands before the place, those at the end of the piece before included. */
  #isEscapedAt(piece: Uint8Array | string, place: number, from: number): boolean {
    let start = place;
    while (start > from && codeAt(piece, start - 1) === BACKSLASH) start--;
    const isOdd = (place - start) % 2 === 1;
    return start === from && this.#isEscaped ? !isOdd : isOdd;
  }

  /** Takes what the piece has of a number; gives the place behind it. */
  #digits(piece: Uint8Array | string, from: number): number {
    let at = from;
    while (at < piece.length && isNumberPart(codeAt(piece, at))) {
      this.#number += String.fromCharCode(codeAt(piece, at));
      at++;
      if (this.#number.length > NUMBER_MAX_CHARS) this.#refuseNumber(at, 'json-number-too-long');
    }
    if (at < piece.length) this.#endNumber(at);
    return at;
  }

  #token(code: number, at: number): void {
    const isClosing = code === CLOSE_ARRAY || code === CLOSE_OBJECT;
    if (this.#valueDue && !isClosing) {
      this.#valueDue = false;
      if (++this.#values > this.#bounds.valuesMaxCount) {
        this.#refuse(at, 'json-too-many-values', `more than ${this.#bounds.valuesMaxCount} values`);
      }
    }
    if (code === QUOTE) {
      this.#inString = true;
      this.#isEscaped = false;
      this.#isKey = this.#keyDue;
      this.#keyChars = 0;
      this.#keyDue = false;
      if (this.#isKey) this.#countMember(at);
    } else if (code === COMMA) {
      this.#valueDue = true;
      this.#keyDue = (this.#members[this.#depth - 1] ?? -1) >= 0;
    } else if (code === OPEN_OBJECT || code === OPEN_ARRAY) {
      if (++this.#depth > this.#bounds.depthMax) {
        this.#refuse(at, 'json-too-deep', `more than ${this.#bounds.depthMax} levels of objects and lists`);
      }
      this.#members[this.#depth - 1] = code === OPEN_OBJECT ? 0 : -1;
      this.#keyDue = code === OPEN_OBJECT;
      this.#valueDue = true;
    } else if (isClosing) {
      this.#depth = Math.max(0, this.#depth - 1);
      this.#valueDue = false;
      this.#keyDue = false;
    } else if (code === MINUS || (code >= ZERO && code <= NINE)) {
      this.#number = String.fromCharCode(code);
    } else if (code === COLON) {
      this.#keyDue = false;
    }
  }

  #countMember(at: number): void {
    const { membersMaxCount } = this.#bounds;
    const count = this.#members[this.#depth - 1]! + 1;
    if (count > membersMaxCount) {
      this.#refuse(at, 'json-too-many-members', `more than ${membersMaxCount} members in one object`);
    }
    this.#members[this.#depth - 1] = count;
  }

  #endNumber(at: number): void {
    const number = this.#number;
    this.#number = '';
    if (this.#bounds.exactNumbers && !isExact(number)) {
      this.#number = number;
      this.#refuseNumber(at, 'json-number-inexact');
    }
  }

  #refuseNumber(at: number, code: 'json-number-inexact' | 'json-number-too-long'): never {
    const place = this.#seen + at - this.#number.length;
    if (code === 'json-number-too-long') this.#refuse(at, code, `a number of more than ${NUMBER_MAX_CHARS} characters`);
    throw new InvalidError(
      code,
      `${this.#what}: a number of ${this.#number.length} characters (at ${place}) can't be kept as it is written. Send it as a text.`,
      { at: place },
    );
  }

  #refuse(at: number, code: string, has: string): never {
    const place = this.#seen + at;
    throw new LimitError(
      code,
      `${this.#what} has ${has} (at ${place}). Send less at once, or keep it elsewhere and send a reference.`,
      {
        at: place,
      },
    );
  }
}

/**
 * Whether a number keeps its value: one beyond 2^53 keeps its digits, one below is not lost to 0. Fractions are the nearest that there
 * are, as in every program that reads JSON. What is no number at all, the parser refuses.
 */
function isExact(number: string): boolean {
  if (number.length <= EXACT_DIGITS && !/e/i.test(number)) return true;
  const value = Number(number);
  if (Number.isNaN(value)) return true;
  if (!Number.isFinite(value)) return false;
  const digits = digitsOf(number);
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? digits === digitsOf(String(value)) : value !== 0 || digits === '';
}

/** Those that count: without point, exponent, and zeros around them. */
const digitsOf = (number: string): string =>
  number
    .split(/e/i, 1)[0]!
    .replaceAll(/[-+.]/g, '')
    .replace(/^0+/, '')
    .replace(/(?<=[1-9])0+$/, '');

/** Throws as `JsonScanner` does, of a text that is there whole. */
export function checkJson(text: Uint8Array | string, what: string, bounds: JsonBounds = JSON_BOUNDS): void {
  const scanner = new JsonScanner(what, bounds);
  scanner.push(text);
  scanner.end();
}

/** The value of a text. Throws as `checkJson` does, and `InvalidError` (`json-invalid`) for what is no JSON, without a word of it: it may hold a secret. */
export function parseJson(text: string, what: string, bounds: JsonBounds = JSON_BOUNDS): Json {
  checkJson(text, what, bounds);
  try {
    return JSON.parse(text) as Json;
  } catch (thrown) {
    const place = / at position \d+(?: \(line \d+ column \d+\))?/.exec((thrown as Error).message)?.[0] ?? '';
    throw new InvalidError('json-invalid', `${what} is no JSON${text.trim() === '' ? ': it is empty' : place}.`);
  }
}
