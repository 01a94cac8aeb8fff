/**
 * Owns reading JSON that is damaged or written by hand: truncated, with a byte order mark, comments, trailing or missing commas, single
 * quotes, or text behind its end. A string, number or word that is cut off is dropped and never guessed. Must not throw. Pure.
 */

import { JSON_BOUNDS } from './json-bounds.ts';

export interface LenientJson {
  /** Undefined when nothing could be read. */
  readonly value: unknown;
  /** What was wrong, for people; each problem once. */
  readonly problems: readonly string[];
  /** The value has everything that was written. */
  readonly isWhole: boolean;
}

/** Mistakes that lose nothing. */
const HARMLESS: ReadonlySet<string> = new Set([
  'a byte order mark',
  'a missing comma',
  'a trailing comma',
  'comments',
  'keys without quotes',
  'single quotes',
]);

/** The problem of a truncated text: what followed is unknown. */
export const END_MISSING = 'its end is missing';

/** Stands for a value that is incomplete. */
const LOST = Symbol('lost');

export function parseLenient(text: string): LenientJson {
  const reader = new LenientReader(text);
  const value = reader.document();
  const problems = [...reader.problems];
  const isWhole = value !== LOST && problems.every((problem) => HARMLESS.has(problem));
  return { value: value === LOST ? undefined : value, problems, isWhole };
}

class LenientReader {
  readonly problems = new Set<string>();
  readonly #text: string;
  #at = 0;
  #values = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): unknown {
    if (this.#text.startsWith('\ufeff')) {
      this.#at = 1;
      this.problems.add('a byte order mark');
    }
    this.#space();
    if (this.#ended()) {
      this.problems.add(/\0/.test(this.#text) ? 'zeros instead of text' : 'nothing in it');
      return LOST;
    }
    if (this.#peek() !== '{' && this.#peek() !== '[') {
      this.problems.add('no JSON');
      return LOST;
    }
    const value = this.#value(0);
    this.#space();
    if (!this.#ended()) this.problems.add('something behind its end');
    return value;
  }

  #peek(): string {
    return this.#text[this.#at] ?? '';
  }

  #ended(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Skips white space, zeros and comments. */
  #space(): void {
    for (;;) {
      const skipped = /[\s\0]*/y;
      skipped.lastIndex = this.#at;
      this.#at += skipped.exec(this.#text)?.[0].length ?? 0;
      const pair = this.#text.slice(this.#at, this.#at + 2);
      if (pair !== '//' && pair !== '/*') return;
      this.problems.add('comments');
      const end = this.#text.indexOf(pair === '//' ? '\n' : '*/', this.#at + 2);
      this.#at = end === -1 ? this.#text.length : end + (pair === '//' ? 1 : 2);
    }
  }

  #value(depth: number): unknown {
    this.#space();
    if (depth > JSON_BOUNDS.depthMax || ++this.#values > JSON_BOUNDS.valuesMaxCount) {
      this.problems.add('too deep nesting, or too many values');
      this.#at = this.#text.length;
      return LOST;
    }
    const first = this.#peek();
    if (first === '{') return this.#object(depth);
    if (first === '[') return this.#array(depth);
    if (first === '"' || first === "'") return this.#string();
    return this.#word();
  }

  #object(depth: number): object {
    this.#at += 1;
    const entries: [string, unknown][] = [];
    while (!this.#closes('}')) {
      const key = this.#key();
      if (key === LOST) break;
      this.#space();
      if (this.#peek() === ':') this.#at += 1;
      const value = this.#value(depth + 1);
      if (value !== LOST) entries.push([key as string, value]);
      this.#comma('}');
    }
    if (new Set(entries.map(([key]) => key)).size < entries.length) this.problems.add('a key that stands twice');
    // `fromEntries` makes every name an own property, `__proto__` too.
    return Object.fromEntries(entries);
  }

  #array(depth: number): unknown[] {
    this.#at += 1;
    const items: unknown[] = [];
    while (!this.#closes(']')) {
      const value = this.#value(depth + 1);
      if (value !== LOST) items.push(value);
      this.#comma(']');
    }
    return items;
  }

  /** Whether the object or array ends here: by its bracket, or because the text ends. */
  #closes(bracket: string): boolean {
    this.#space();
    if (this.#ended()) {
      this.problems.add(END_MISSING);
      return true;
    }
    if (this.#peek() === bracket) {
      this.#at += 1;
      return true;
    }
    // The bracket of the enclosing value: this one's is missing.
    return this.#peek() === (bracket === '}' ? ']' : '}') && this.#odd('a bracket that does not fit');
  }

  #odd(problem: string): true {
    this.problems.add(problem);
    return true;
  }

  #comma(bracket: string): void {
    this.#space();
    if (this.#ended() || this.#peek() === bracket) return;
    if (this.#peek() !== ',') {
      this.problems.add('a missing comma');
      // Skip a character that can't begin anything; otherwise the loop would meet it again.
      if (/[^\w"'{}[\]-]/.test(this.#peek())) this.#at += 1;
      return;
    }
    this.#at += 1;
    this.#space();
    if (this.#peek() === bracket) this.problems.add('a trailing comma');
  }

  #key(): unknown {
    if (this.#peek() === '"' || this.#peek() === "'") return this.#string();
    const plain = /[\w$-]+/y;
    plain.lastIndex = this.#at;
    const found = plain.exec(this.#text)?.[0];
    if (found === undefined) {
      this.problems.add('a key that can not be read');
      this.#at = this.#text.length;
      return LOST;
    }
    this.problems.add('keys without quotes');
    this.#at += found.length;
    return found;
  }

  #string(): unknown {
    const quote = this.#peek();
    const start = this.#at;
    let end = start + 1;
    while (end < this.#text.length && this.#text[end] !== quote) end += this.#text[end] === '\\' ? 2 : 1;
    this.#at = Math.min(end + 1, this.#text.length);
    if (end >= this.#text.length) {
      this.problems.add(END_MISSING);
      return LOST;
    }
    if (quote === "'") this.problems.add('single quotes');
    return this.#unescaped(this.#text.slice(start + 1, end), quote);
  }

  #unescaped(inner: string, quote: string): unknown {
    const strict = quote === '"' ? inner : inner.replaceAll("\\'", "'").replaceAll('"', '\\"');
    try {
      // A text that somebody wrote by hand may contain line breaks and tabs.
      return JSON.parse(`"${strict.replaceAll('\r', '').replaceAll('\n', '\\n').replaceAll('\t', '\\t')}"`);
    } catch {
      this.problems.add('a text that can not be read');
      return LOST;
    }
  }

  #word(): unknown {
    const word = /[^\s,\]}{["':]+/y;
    word.lastIndex = this.#at;
    const found = word.exec(this.#text)?.[0] ?? '';
    this.#at += Math.max(found.length, found === '' && !/[\]}]/.test(this.#peek()) ? 1 : 0);
    // A number at the end of the text may have had more digits.
    if (this.#ended() && found !== '') {
      this.problems.add(END_MISSING);
      return LOST;
    }
    try {
      return JSON.parse(found);
    } catch {
      this.problems.add('a value that can not be read');
      return LOST;
    }
  }
}
