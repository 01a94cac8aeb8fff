/**
 * Owns the search for secrets in plain data (JSON) and in text. Finds are named by place and kind. Must never return, print or throw a
 * secret's value, nor a place that contains one: a key that is itself a secret is omitted from the pointer. A search takes time linear in
 * what it reads, and reads a bounded amount; what it did not read is itself a find (`too-deep-to-search`, `too-large-to-search`). Pure.
 */

import { longTokens, randomTokens } from './entropy.ts';
import { isNamedSecret, type JudgedName, judgeName, NAMES, PATTERNS, SIGN_OF_LONG } from './patterns.ts';

/** Levels of nesting that are searched; deeper data is a find of its own. */
const DEPTH_MAX = 200;
/** Places that a message names; the others are counted. */
const PLACES_REPORTED_MAX = 5;
/** Characters that one search reads, keys included; the rest is not searched, and is a find of its own. */
const SEARCH_MAX_CHARS = 4 * 1_024 * 1_024;
/** What each value counts besides its own characters, and each text that is matched against all patterns. */
const SEARCH_VALUE_CHARS = 4;
const SEARCH_TEXT_CHARS = 64;
/** A shorter text without spaces, `=` and `:` has no known form. */
const FORM_MIN_CHARS = 15;
/** Most finds of one search. */
const FOUND_MAX_COUNT = 1_000;
/** Characters of a key that a place shows. */
const PLACE_KEY_MAX_CHARS = 128;
/** Names of members whose judgement is cached. */
const NAMES_KEPT_COUNT = 1_024;

export interface FoundSecret {
  /** JSON pointer (RFC 6901); empty: the value itself. A key that is a secret is shown as `(a key)`, a long one ends with `…`. */
  readonly place: string;
  /** `github-token`, `private-key`, `password`, `high-entropy`, … */
  readonly kind: string;
}

/** Texts that are never secrets, whatever they look like: sealed ones, for example. */
export type IsExempt = (text: string) => boolean;

const nothingExempt: IsExempt = () => false;

/**
 * Every secret in the value, in the order of places; each place and kind once. When the value or the number of finds exceeds what one
 * search covers, the last find is the place from which on nothing was searched (`too-large-to-search`).
 */
export function findSecrets(value: unknown, isExempt: IsExempt = nothingExempt): FoundSecret[] {
  const search = new Search(isExempt);
  search.value(value, undefined, 0);
  return search.found;
}

/** The text with each secret replaced by `[masked kind]`; a text that is too large to search is replaced as a whole. */
export const maskSecrets = (text: string): string =>
  text.length > SEARCH_MAX_CHARS ? markOf(TOO_LARGE) : maskedText(text, () => true);

function maskedText(text: string, isMasked: (kind: string) => boolean): string {
  let masked = '';
  let at = 0;
  for (const { start, end, kind } of spansIn(text)) {
    if (end <= at || !isMasked(kind)) continue;
    masked += text.slice(at, Math.max(start, at)) + markOf(kind);
    at = end;
  }
  return at === 0 ? text : masked + text.slice(at);
}

const markOf = (kind: string): string => `[masked ${kind}]`;
const MARK = /\[masked [a-z\d-]+\]/;

/** Whether a mark stands for a secret somewhere in the JSON. */
export const holdsMark = (value: unknown): boolean => MARK.test(JSON.stringify(value) ?? '');

/** `/notes/2/text (github-token), /artifacts/env (password) and 3 more`. */
export function secretPlaces(found: readonly FoundSecret[]): string {
  const reported = found
    .slice(0, PLACES_REPORTED_MAX)
    .map(({ place, kind }) => `${place || 'the value itself'} (${kind})`);
  const more = found.length - reported.length;
  return reported.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

const TOO_LARGE = 'too-large-to-search';
const GUESSED = 'high-entropy';
const TOO_DEEP = 'too-deep-to-search';

/** Found by its randomness alone, which ids have as well: nanoids, cursors, digests in base64. */
export const isGuess = (kind: string): boolean => kind === GUESSED;
/** Whether the find means that its place was not searched. */
export const isUnsearched = ({ kind }: FoundSecret): boolean => kind === TOO_LARGE || kind === TOO_DEEP;

class Search {
  readonly found: FoundSecret[] = [];
  readonly #isExempt: IsExempt;
  /** Names of members and indices, down to the current value. */
  readonly #path: (string | number)[] = [];
  #leftChars = SEARCH_MAX_CHARS;
  #isOver = false;
  /** Guesses don't end a search: those beyond the limit are dropped. */
  #guessCount = 0;

  constructor(isExempt: IsExempt) {
    this.#isExempt = isExempt;
  }

  /** `name`: the name of the value, or of the list that contains it. */
  value(value: unknown, name: JudgedName | undefined, depth: number): void {
    const isText = typeof value === 'string';
    if (!(isText ? this.#spend(value) : this.#spend('', true))) return;
    if (isText) {
      if (this.#isExempt(value)) return;
      for (const kind of kindsIn(value, name)) this.#report(kind);
      return;
    }
    if (typeof value === 'number' && name !== undefined && isNamedSecret(name, value)) this.#report('password');
    if (typeof value !== 'object' || value === null) return;
    if (depth >= DEPTH_MAX) {
      this.#report(TOO_DEEP);
      return;
    }
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length && !this.#isOver; at += 1) {
        this.#path.push(at);
        this.value(value[at], name, depth + 1);
        this.#path.pop();
      }
      return;
    }
    for (const [key, each] of Object.entries(value)) {
      if (this.#isOver) return;
      this.#member(key, each, depth);
    }
  }

  #member(key: string, value: unknown, depth: number): void {
    const name = judgedName(key);
    if (!this.#spend(key, name.isPlain)) return;
    const kinds = name.isPlain ? NO_KINDS : kindsIn(key, undefined);
    for (const kind of kinds) this.#report(kind, '/(a key)');
    this.#path.push(kinds.size > 0 ? '(a key)' : key);
    this.value(value, name, depth + 1);
    this.#path.pop();
  }

  /** False: the search has read as much as it may. */
  #spend(text: string, isShort = isPlain(text)): boolean {
    if (this.#isOver) return false;
    this.#leftChars -= text.length + (isShort ? SEARCH_VALUE_CHARS : SEARCH_TEXT_CHARS);
    if (this.#leftChars < 0) this.#end();
    return !this.#isOver;
  }

  #report(kind: string, below = ''): void {
    if (this.#isOver) return;
    if (isGuess(kind)) {
      if (this.#guessCount === FOUND_MAX_COUNT) return;
      this.#guessCount += 1;
    } else if (this.found.length - this.#guessCount === FOUND_MAX_COUNT - 1) {
      this.#end();
      return;
    }
    this.found.push({ place: this.#place() + below, kind });
  }

  #end(): void {
    this.#isOver = true;
    this.found.push({ place: this.#place(), kind: TOO_LARGE });
  }

  #place(): string {
    return this.#path.map((part) => `/${typeof part === 'number' ? part : shownKey(part)}`).join('');
  }
}

export interface MaskOptions {
  readonly isExempt: IsExempt;
  /** Finds of other kinds stay as they are. */
  readonly isMasked: (kind: string) => boolean;
}

/**
 * JSON with each secret replaced by `[masked kind]`: a part of a text, or a whole value, even a number, that its name declares a secret.
 * Returns the value itself when nothing changed; deterministic. Call it after a search has read all of the value.
 */
export function maskedValue(value: unknown, { isExempt, isMasked }: MaskOptions): unknown {
  const text = (given: string, name: JudgedName | undefined): string => {
    if (isExempt(given)) return given;
    const spans = maskedText(given, isMasked);
    if (spans !== given || name === undefined || !isMasked('password')) return spans;
    return spansIn(given).length === 0 && isNamedSecret(name, given) ? markOf('password') : given;
  };
  const masked = (given: unknown, name: JudgedName | undefined): unknown => {
    if (typeof given === 'string') return text(given, name);
    if (typeof given === 'number') {
      return name !== undefined && isMasked('password') && isNamedSecret(name, given) ? markOf('password') : given;
    }
    if (typeof given !== 'object' || given === null) return given;
    if (Array.isArray(given)) {
      const items = given.map((each) => masked(each, name));
      return items.some((each, at) => each !== given[at]) ? items : given;
    }
    const before = Object.entries(given);
    const taken = new Set<string>();
    const after = before.map(([key, each]): [string, unknown] => [
      freeName(text(key, undefined), taken),
      masked(each, judgedName(key)),
    ]);
    const isSame = after.every(([key, each], at) => key === before[at]![0] && each === before[at]![1]);
    return isSame ? given : Object.fromEntries(after);
  };
  return masked(value, undefined);
}

/** Two keys may be masked alike: neither may be lost. */
function freeName(name: string, taken: Set<string>): string {
  let free = name;
  for (let count = 2; taken.has(free); count += 1) free = `${name} ${count}`;
  taken.add(free);
  return free;
}

function shownKey(key: string): string {
  const shown = key.length <= PLACE_KEY_MAX_CHARS ? key : `${key.slice(0, PLACE_KEY_MAX_CHARS)}…`;
  return shown.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** A name and what it says about its value; `isPlain`: the name is no secret itself. */
type KnownName = JudgedName & { readonly isPlain: boolean };

/** Most data repeats a few names. */
const judged = new Map<string, KnownName>();

function judgedName(name: string): KnownName {
  const known = judged.get(name);
  if (known !== undefined) return known;
  const fresh = { ...judgeName(name), isPlain: isPlain(name) };
  if (name.length > PLACE_KEY_MAX_CHARS) return fresh;
  if (judged.size >= NAMES_KEPT_COUNT) judged.clear();
  judged.set(name, fresh);
  return fresh;
}

/** True for most keys, and many values. */
const isPlain = (text: string): boolean => text.length < FORM_MIN_CHARS && !/[=:\s]/.test(text);

const NO_KINDS: ReadonlySet<string> = new Set();
const PASSWORD_ONLY: ReadonlySet<string> = new Set(['password']);

function kindsIn(text: string, name: JudgedName | undefined): ReadonlySet<string> {
  const spans = spansIn(text);
  if (spans.length > 0) return new Set(spans.map(({ kind }) => kind));
  return name !== undefined && isNamedSecret(name, text) ? PASSWORD_ONLY : NO_KINDS;
}

/** Every form without a long token contains one of these, and most sentences contain none. */
const isMarked = (text: string): boolean =>
  text.includes(':') || text.includes('=') || /\d/.test(text) || text.includes('-----BEGIN ');

interface Span {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

const NO_SPANS: readonly Span[] = [];
const HINTS = [...new Set(PATTERNS.flatMap(({ hint }) => (hint === 'long-token' ? [] : [hint])))];

/** By start, without overlap; a secret that a pattern has found is not reported again for its entropy. */
function spansIn(text: string): readonly Span[] {
  if (isPlain(text)) return NO_SPANS;
  const tokens = longTokens(text);
  if (tokens.length === 0 && !isMarked(text)) return NO_SPANS;
  const isNamed = NAMES.test(text);
  const hinted = HINTS.filter(({ form, isOfName }) => (isNamed || !isOfName) && form.test(text));
  if (tokens.length === 0 && hinted.length === 0) return NO_SPANS;
  const joined = tokens.join(' ');
  const isSigned = SIGN_OF_LONG.test(joined);
  let spans = NO_SPANS;
  for (const { kind, form, counts, hint } of PATTERNS) {
    if (hint === 'long-token' ? !isSigned || joined.search(form) < 0 : !hinted.includes(hint)) continue;
    const found: Span[] = [];
    for (const match of text.matchAll(form)) {
      const secret = match.slice(1).find((group) => group !== undefined) ?? match[0];
      if (counts && !counts(secret)) continue;
      const start = match.index + match[0].lastIndexOf(secret);
      if (start < (found.at(-1)?.end ?? 0)) continue;
      found.push({ start, end: kind === 'private-key' ? endOfKey(text, start) : start + secret.length, kind });
    }
    spans = withOthers(spans, found);
  }
  const random = randomTokens(text, tokens).map(([start, end]) => ({ start, end, kind: GUESSED }));
  return withOthers(spans, random);
}

/** All of `standing`, and those of `others` that overlap none of them. Both are ordered by start, and so is the result. */
function withOthers(standing: readonly Span[], others: readonly Span[]): readonly Span[] {
  if (others.length === 0) return standing;
  const all: Span[] = [];
  let at = 0;
  for (const other of others) {
    for (; at < standing.length && standing[at]!.end <= other.start; at += 1) all.push(standing[at]!);
    if (at === standing.length || standing[at]!.start >= other.end) all.push(other);
  }
  return [...all, ...standing.slice(at)];
}

/** Masks the whole private key, not its first line alone. */
function endOfKey(text: string, start: number): number {
  const end = /-----END [A-Z0-9 ]{1,60}-----/.exec(text.slice(start));
  return end === null ? text.length : start + end.index + end[0].length;
}

const AUTHORITY = /(\b[a-z][a-z0-9+.-]{0,30}:\/\/)[^\s"'<>?#]{0,500}@/gi;

/**
 * Takes credentials out of addresses, wherever they stand in a text: everything before the last `@` in front of a path, since passwords are
 * often written as they are, `@` among their characters. `postgres://ana:secret@db/x` becomes `postgres://[redacted]@db/x`.
 */
export const withoutCredentials = (text: string): string => text.replace(AUTHORITY, '$1[redacted]@');
