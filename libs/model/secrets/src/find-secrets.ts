/**
 * Owns the search for secrets in plain data (JSON) and in text. Finds are named by place and kind. Must never return,
 * print or throw a secret's value, nor a place that holds one: a key that is itself a secret is left out of the pointer.
 * A search takes time in proportion to what it looks at, and looks at so much at most; what it has not looked at is a find
 * (`too-deep-to-search`, `too-large-to-search`). Pure.
 */

import { randomTokens } from './entropy.ts';
import {
  DEPTH_MAX,
  FORM_MIN_CHARS,
  FOUND_MAX_COUNT,
  PLACE_KEY_MAX_CHARS,
  PLACES_REPORTED_MAX,
  SEARCH_MAX_CHARS,
  SEARCH_TEXT_CHARS,
  SEARCH_VALUE_CHARS,
} from './limits.ts';
import { isNamedSecret, type JudgedName, judgeName, PATTERNS } from './patterns.ts';

export interface FoundSecret {
  /** JSON pointer (RFC 6901); empty: the value itself. A key that is a secret reads `(a key)`, a long one ends with `…`. */
  readonly place: string;
  /** `github-token`, `private-key`, `password`, `high-entropy`, … */
  readonly kind: string;
}

/**
 * Every secret in the value, in the order of its places; each place and kind once. Where there is more than one search looks
 * at, or tells, the last find is the place from which on nobody has looked (`too-large-to-search`).
 */
export function findSecrets(value: unknown): FoundSecret[] {
  const search = new Search();
  search.value(value, '', undefined, 0);
  return search.found;
}

/** The text with each secret replaced by `[masked kind]`; a text that is too large to be searched goes as a whole. */
export function maskSecrets(text: string): string {
  if (text.length > SEARCH_MAX_CHARS) return `[masked ${TOO_LARGE}]`;
  let masked = '';
  let at = 0;
  for (const { start, end, kind } of spansIn(text)) {
    if (end <= at) continue;
    masked += `${text.slice(at, Math.max(start, at))}[masked ${kind}]`;
    at = end;
  }
  return masked + text.slice(at);
}

/** `/notes/2/text (github-token), /artifacts/env (password) and 3 more`. */
export function secretPlaces(found: readonly FoundSecret[]): string {
  const reported = found
    .slice(0, PLACES_REPORTED_MAX)
    .map(({ place, kind }) => `${place || 'the value itself'} (${kind})`);
  const more = found.length - reported.length;
  return reported.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

const TOO_LARGE = 'too-large-to-search';

class Search {
  readonly found: FoundSecret[] = [];
  #leftChars = SEARCH_MAX_CHARS;
  #isOver = false;

  /** `name`: of the value, or of the list that it is in. */
  value(value: unknown, place: string, name: JudgedName | undefined, depth: number): void {
    if (!this.#spend(typeof value === 'string' ? value : '', place)) return;
    if (typeof value === 'string') {
      for (const kind of kindsIn(value, name)) this.#report(place, kind);
      return;
    }
    if (typeof value === 'number' && name !== undefined && isNamedSecret(name, value)) this.#report(place, 'password');
    if (typeof value !== 'object' || value === null) return;
    if (depth >= DEPTH_MAX) {
      this.#report(place, 'too-deep-to-search');
      return;
    }
    if (Array.isArray(value)) {
      for (let at = 0; at < value.length && !this.#isOver; at += 1) {
        this.value(value[at], `${place}/${at}`, name, depth + 1);
      }
      return;
    }
    for (const [key, each] of Object.entries(value)) {
      if (this.#isOver) return;
      this.#member(key, each, place, depth);
    }
  }

  #member(key: string, value: unknown, place: string, depth: number): void {
    if (!this.#spend(key, place)) return;
    const kinds = kindsIn(key, undefined);
    for (const kind of kinds) this.#report(`${place}/(a key)`, kind);
    this.value(value, `${place}/${kinds.size > 0 ? '(a key)' : shownKey(key)}`, judgeName(key), depth + 1);
  }

  /** False: that is more than one search looks at. */
  #spend(text: string, place: string): boolean {
    if (this.#isOver) return false;
    this.#leftChars -= text.length + (isPlain(text) ? SEARCH_VALUE_CHARS : SEARCH_TEXT_CHARS);
    if (this.#leftChars < 0) this.#end(place);
    return !this.#isOver;
  }

  #report(place: string, kind: string): void {
    if (this.#isOver) return;
    if (this.found.length === FOUND_MAX_COUNT - 1) this.#end(place);
    else this.found.push({ place, kind });
  }

  #end(place: string): void {
    this.#isOver = true;
    this.found.push({ place, kind: TOO_LARGE });
  }
}

function shownKey(key: string): string {
  const shown = key.length <= PLACE_KEY_MAX_CHARS ? key : `${key.slice(0, PLACE_KEY_MAX_CHARS)}…`;
  return shown.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** Most keys, and many values. */
const isPlain = (text: string): boolean => text.length < FORM_MIN_CHARS && !/[=:\s]/.test(text);

function kindsIn(text: string, name: JudgedName | undefined): ReadonlySet<string> {
  const kinds = new Set(spansIn(text).map(({ kind }) => kind));
  if (kinds.size === 0 && name !== undefined && isNamedSecret(name, text)) kinds.add('password');
  return kinds;
}

interface Span {
  readonly start: number;
  readonly end: number;
  readonly kind: string;
}

/** By start, none within another; what a pattern has found is not told again for its entropy. */
function spansIn(text: string): readonly Span[] {
  if (isPlain(text)) return [];
  let spans: readonly Span[] = [];
  for (const { kind, form, counts } of PATTERNS) {
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
  const random = randomTokens(text).map(([start, end]) => ({ start, end, kind: 'high-entropy' }));
  return withOthers(spans, random);
}

/** Those that stand, and of the others what overlaps none of them. Both are in the order of their starts, and so is what comes. */
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

/** All of a private key is masked, not its first line alone. */
function endOfKey(text: string, start: number): number {
  const end = /-----END [A-Z0-9 ]{1,60}-----/.exec(text.slice(start));
  return end === null ? text.length : start + end.index + end[0].length;
}
