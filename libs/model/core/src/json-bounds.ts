/**
 * Owns the bounds on JSON: how many values, how deep, how long a key, how many members in an object, whether a key may stand twice in one,
 * and which numbers JavaScript keeps exactly. Counts before anything is parsed, in one pass without recursion, so a hostile text costs no more than its bytes: an empty object
 * of two bytes takes about sixty once it is parsed. Does not check that the text is JSON: the parser does. Pure.
 */

import type { Json } from './belief.ts';
import { InvalidError, LimitError } from './errors.ts';

/** Nesting of objects and arrays. Code that reads values within it by recursion needs no bound of its own. */
export const JSON_DEPTH_MAX = 64;
/** Values in one text: members, elements, objects and arrays. Parsed, they take 10 MB and about 10 ms. */
export const JSON_VALUES_MAX_COUNT = 100_000;
/** Length of one key, in characters as written; in bytes when the text is UTF-8. */
export const JSON_KEY_MAX_CHARS = 1_024;
/** Members of one object: engines are slow to insert into an object with very many keys. */
export const JSON_MEMBERS_MAX_COUNT = 10_000;
/** Nesting of what user code returns, which may wrap what it was given. */
export const RETURNED_DEPTH_MAX = 96;
export const RETURNED_VALUES_MAX_COUNT = 200_000;
export const RETURNED_KEY_MAX_CHARS = 2_048;
export const RETURNED_MEMBERS_MAX_COUNT = 50_000;
/** Nesting of a stored payload, which wraps several such values. */
export const STORED_DEPTH_MAX = 128;
export const STORED_VALUES_MAX_COUNT = 400_000;
export const STORED_KEY_MAX_CHARS = 4_096;
export const STORED_MEMBERS_MAX_COUNT = 60_000;
/** Length of one number, in characters as written. */
const NUMBER_MAX_CHARS = 64;
/** A whole number of at most so many digits is always exact. */
const EXACT_DIGITS = 15;

export interface JsonBounds {
  readonly valuesMaxCount: number;
  readonly depthMax: number;
  readonly keyMaxChars: number;
  readonly membersMaxCount: number;
  /** Whether a number that would change is refused; otherwise it is rounded, as `JSON.parse` does. */
  readonly exactNumbers: boolean;
  /**
   * Whether an object that has a key twice is refused; otherwise the last one counts, as `JSON.parse` has it. What stands before a process
   * may have checked the first.
   */
  readonly uniqueKeys: boolean;
}

/** For input of callers and files. */
export const JSON_BOUNDS: JsonBounds = {
  valuesMaxCount: JSON_VALUES_MAX_COUNT,
  depthMax: JSON_DEPTH_MAX,
  keyMaxChars: JSON_KEY_MAX_CHARS,
  membersMaxCount: JSON_MEMBERS_MAX_COUNT,
  exactNumbers: true,
  uniqueKeys: true,
};

/** For what user code returns: belief, outputs, inputs of tasks, responses. */
export const RETURNED_BOUNDS: JsonBounds = {
  valuesMaxCount: RETURNED_VALUES_MAX_COUNT,
  depthMax: RETURNED_DEPTH_MAX,
  keyMaxChars: RETURNED_KEY_MAX_CHARS,
  membersMaxCount: RETURNED_MEMBERS_MAX_COUNT,
  exactNumbers: false,
  uniqueKeys: false,
};

/**
 * For payloads in the log. Everything that Tidemark writes fits, so a larger payload is someone else's. Its numbers were exact when they
 * were written.
 */
export const STORED_BOUNDS: JsonBounds = {
  valuesMaxCount: STORED_VALUES_MAX_COUNT,
  depthMax: STORED_DEPTH_MAX,
  keyMaxChars: STORED_KEY_MAX_CHARS,
  membersMaxCount: STORED_MEMBERS_MAX_COUNT,
  exactNumbers: false,
  uniqueKeys: false,
};

/** For answers of foreign servers. They can't be asked to answer differently, so large numbers are rounded, and the last of two keys counts. */
export const ANSWER_BOUNDS: JsonBounds = { ...JSON_BOUNDS, exactNumbers: false, uniqueKeys: false };

/** For what a model writes: it is told of a number that would change, and can write it as a text. */
export const MODEL_BOUNDS: JsonBounds = { ...JSON_BOUNDS, uniqueKeys: false };

/** Why JSON of a model can't be taken as it is written: it has a number that would change. Undefined: it has none, or isn't JSON. */
export function inexactNumber(text: string, what: string): string | undefined {
  try {
    parseJson(text, what, MODEL_BOUNDS);
    return undefined;
  } catch (error) {
    return error instanceof InvalidError && error.code === 'json-number-inexact' ? error.message : undefined;
  }
}

/** Only counts: for texts that are stored already. */
export const COUNTED_BOUNDS: JsonBounds = {
  valuesMaxCount: Number.POSITIVE_INFINITY,
  depthMax: Number.POSITIVE_INFINITY,
  keyMaxChars: Number.POSITIVE_INFINITY,
  membersMaxCount: Number.POSITIVE_INFINITY,
  exactNumbers: false,
  uniqueKeys: false,
};

/** Bytes that one value is taken to need once it is parsed. */
export const PARSED_VALUE_BYTES = 100;

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

function charsOf(piece: Uint8Array | string, from: number, to: number): string {
  if (typeof piece === 'string') return piece.slice(from, to);
  let chars = '';
  for (let at = from; at < to; at++) chars += String.fromCharCode(piece[at]!);
  return chars;
}

/**
 * The key that was written: `"\\u0061"` and `"a"` are one. Where it can't be read (an escape or UTF-8 that is none), the parser or the
 * decoder refuses the text, whatever is compared here.
 */
function keyOf(written: string, isText: boolean): string {
  try {
    const text =
      isText || !/[\x80-\xff]/.test(written) ? written : decodeURIComponent(written.replace(BYTE, inPercent));
    return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
  } catch {
    return written;
  }
}

const BYTE = /[%\x80-\xff]/g;
const inPercent = (byte: string): string => `%${byte.charCodeAt(0).toString(16)}`;

/** Digits, `.`, `+`, `-`, `e` and `E`. */
const isNumberPart = (code: number): boolean =>
  (code >= ZERO && code <= NINE) || code === 0x2e || code === 0x2b || code === MINUS || code === 0x65 || code === 0x45;

/**
 * Counts a text that arrives in pieces, as bytes of UTF-8 or as characters. Throws at the first bound that is exceeded, so that the rest
 * need not be read: `LimitError` (`json-too-many-values`, `json-too-many-members`, `json-too-deep`, `json-key-too-long`,
 * `json-number-too-long`) or `InvalidError` (`json-number-inexact`, `json-key-twice`). `details.at` is the number of bytes or characters before the place.
 */
export class JsonScanner {
  readonly #what: string;
  readonly #bounds: JsonBounds;
  #values = 0;
  #depth = 0;
  /** For each level: the number of members of the open object so far; below 0 for an array. */
  readonly #members: number[] = [];
  #inString = false;
  #isEscaped = false;
  /** Whether the string is a key, and its length. */
  #isKey = false;
  #keyChars = 0;
  /** The key as it is written, where it must be unique: characters, or bytes as characters. */
  #key = '';
  /** For each level: the keys of the open object. There are never more of them than values, nor longer than the text. */
  readonly #keys: (Set<string> | undefined)[] = [];
  /** Whether the next token may be a key: after `{`, and after a comma in an object. */
  #keyDue = false;
  /** Whether the next token, unless it closes an object or array, is a value that is not counted yet. */
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

  /** Call it after the last piece: the text may end with a number. */
  end(): void {
    if (this.#number !== '') this.#endNumber(0);
  }

  /** Consumes a string, or the part of it in this piece; returns the place behind it. */
  #string(piece: Uint8Array | string, from: number): number {
    let quote = quoteFrom(piece, from);
    while (quote !== -1 && this.#isEscapedAt(piece, quote, from)) quote = quoteFrom(piece, quote + 1);
    const end = quote === -1 ? piece.length : quote;
    if (this.#isKey) {
      if (this.#bounds.uniqueKeys) this.#key += charsOf(piece, from, Math.min(end, from + this.#bounds.keyMaxChars));
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
    if (this.#isKey && this.#bounds.uniqueKeys) this.#takeKey(typeof piece === 'string', quote);
    return quote + 1;
  }

  /** Whether an odd number of backslashes precedes the place, including those at the end of the previous piece. */
  #isEscapedAt(piece: Uint8Array | string, place: number, from: number): boolean {
    let start = place;
    while (start > from && codeAt(piece, start - 1) === BACKSLASH) start--;
    const isOdd = (place - start) % 2 === 1;
    return start === from && this.#isEscaped ? !isOdd : isOdd;
  }

  /** Consumes a number, or the part of it in this piece; returns the place behind it. */
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
      this.#key = '';
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
      this.#keys[this.#depth - 1] = undefined;
      this.#keyDue = code === OPEN_OBJECT;
      this.#valueDue = true;
    } else if (isClosing) {
      this.#depth = Math.max(0, this.#depth - 1);
      this.#keys.length = this.#depth;
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

  /** The error names the place alone: a key may be a secret. */
  #takeKey(isText: boolean, at: number): void {
    const level = this.#depth - 1;
    this.#keys[level] ??= new Set();
    const known = this.#keys[level];
    const key = keyOf(this.#key, isText);
    if (!known.has(key)) {
      known.add(key);
      return;
    }
    const place = this.#seen + at - this.#keyChars;
    throw new InvalidError(
      'json-key-twice',
      `${this.#what}: the key of ${this.#keyChars} characters (at ${place}) stands in its object already. Give each key once.`,
      { at: place },
    );
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
 * Whether a number keeps its value: no digit beyond 2^53 is lost, and no small number becomes 0. Fractions are rounded to the nearest
 * double, as in every program that reads JSON. The parser refuses what isn't a number at all.
 */
function isExact(number: string): boolean {
  if (number.length <= EXACT_DIGITS && !/e/i.test(number)) return true;
  const value = Number(number);
  if (Number.isNaN(value)) return true;
  if (!Number.isFinite(value)) return false;
  const digits = digitsOf(number);
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? digits === digitsOf(String(value)) : value !== 0 || digits === '';
}

/** The significant digits: without point, exponent and outer zeros. */
const digitsOf = (number: string): string =>
  number
    .split(/e/i, 1)[0]!
    .replaceAll(/[-+.]/g, '')
    .replace(/^0+/, '')
    .replace(/(?<=[1-9])0+$/, '');

/** Checks a complete text. Throws as `JsonScanner` does. */
export function checkJson(text: Uint8Array | string, what: string, bounds: JsonBounds = JSON_BOUNDS): void {
  const scanner = new JsonScanner(what, bounds);
  scanner.push(text);
  scanner.end();
}

/**
 * Parses a text. Throws as `checkJson` does, and `InvalidError` (`json-invalid`) when it isn't JSON. The error quotes nothing of the text,
 * which may hold a secret.
 */
export function parseJson(text: string, what: string, bounds: JsonBounds = JSON_BOUNDS): Json {
  checkJson(text, what, bounds);
  try {
    return JSON.parse(text) as Json;
  } catch (thrown) {
    const place = / at position \d+(?: \(line \d+ column \d+\))?/.exec((thrown as Error).message)?.[0] ?? '';
    throw new InvalidError('json-invalid', `${what} is no JSON${text.trim() === '' ? ': it is empty' : place}.`);
  }
}
