/**
 * Owns the part of regular expressions that JavaScript, Python, Go (RE2) and Rust read alike. A client compiles the patterns of a published
 * schema in its own engine, and some refuse a whole list of tools for one that they can't. Pure.
 */

/** Characters of a pattern that is published; a longer one tells a reader nothing. */
const PATTERN_MAX_CHARS = 1_000;
/** RE2's bound on a repetition, and on the product of nested ones. */
const REPEAT_MAX_COUNT = 1_000;
/** Nesting of groups. */
const GROUPS_MAX_DEPTH = 32;

const DIGITS = '0-9';
const WORDS = 'A-Za-z0-9_';
/** What JavaScript takes for white space; other engines take more or less. */
const SPACES = '\\t-\\r \\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff'.replaceAll(
  /\\u([0-9a-f]{4})/g,
  (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)),
);
/** `\d` of Python and Rust knows the digits of all scripts, `\s` of Go none but ASCII's: sets are spelt out. */
const SETS: Readonly<Record<string, string>> = { d: DIGITS, w: WORDS, s: SPACES };
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };

/**
 * The pattern with the same meaning in every engine; undefined where there is none: lookarounds, backreferences, `\p{…}`, `\b`, flags that
 * change what it means.
 */
export function portablePattern(source: string, flags = ''): string | undefined {
  if (source.length > PATTERN_MAX_CHARS || /[imsv]/.test(flags)) return undefined;
  try {
    const portable = new Reader(source).all();
    new RegExp(portable, 'u');
    return portable;
  } catch {
    return undefined;
  }
}

class Unportable extends Error {}

class Reader {
  readonly #chars: readonly string[];
  #at = 0;

  constructor(source: string) {
    this.#chars = [...source];
  }

  all(): string {
    const { text } = this.#alternatives(0);
    if (this.#at < this.#chars.length) throw new Unportable();
    return text;
  }

  /** Up to the end of the group, with the largest product of nested repetitions. */
  #alternatives(depth: number): { readonly text: string; readonly repeats: number } {
    if (depth > GROUPS_MAX_DEPTH) throw new Unportable();
    let text = '';
    let repeats = 1;
    while (this.#at < this.#chars.length && this.#peek() !== ')') {
      const atom = this.#atom(depth);
      const count = this.#quantifier();
      if (count.text !== '' && !atom.isRepeatable) throw new Unportable();
      const product = atom.repeats * Math.max(count.most, 1);
      if (product > REPEAT_MAX_COUNT) throw new Unportable();
      repeats = Math.max(repeats, product);
      text += atom.text + count.text;
    }
    return { text, repeats };
  }

  #atom(depth: number): { readonly text: string; readonly repeats: number; readonly isRepeatable: boolean } {
    const char = this.#next();
    if ('^$|'.includes(char)) return { text: char, repeats: 1, isRepeatable: false };
    if ('*+?'.includes(char)) throw new Unportable();
    if (char === '(') return this.#group(depth);
    const text = char === '.' ? '.' : char === '[' ? this.#class() : char === '\\' ? this.#escape() : literal(char);
    return { text, repeats: 1, isRepeatable: true };
  }

  #group(depth: number) {
    let opening = '(';
    if (this.#peek() === '?') {
      this.#at += 1;
      const kind = this.#next();
      if (kind === ':') opening = '(?:';
      // A named group is written in three ways; without its name it is the same.
      else if (kind === '<' && !'=!'.includes(this.#peek())) while (this.#next() !== '>');
      else throw new Unportable();
    }
    const { text, repeats } = this.#alternatives(depth + 1);
    if (this.#next() !== ')') throw new Unportable();
    return { text: `${opening}${text})`, repeats, isRepeatable: true };
  }

  #quantifier(): { readonly text: string; readonly most: number } {
    const rest = this.#chars.slice(this.#at, this.#at + 16).join('');
    const [text, least, comma, most] = /^(?:[*+?]|\{(\d{1,6})(,?)(\d{0,6})\})\??/.exec(rest) ?? [''];
    this.#at += text.length;
    if (comma === '' && most !== '' && most !== undefined) throw new Unportable();
    return { text, most: Math.max(Number(least ?? 1), Number(most || 1)) };
  }

  #escape(): string {
    const char = this.#next();
    const set = SETS[char.toLowerCase()];
    if (set !== undefined) return char === char.toLowerCase() ? `[${set}]` : `[^${set}]`;
    return literal(this.#escaped(char));
  }

  #class(): string {
    const isNegated = this.#peek() === '^';
    if (isNegated) this.#at += 1;
    if (this.#peek() === ']') throw new Unportable();
    let text = '';
    while (this.#peek() !== ']') {
      const from = this.#member();
      const set = from.startsWith('\\') ? SETS[from[1]!] : undefined;
      if (set !== undefined || this.#peek() !== '-' || this.#chars[this.#at + 1] === ']') {
        text += set ?? member(from);
        continue;
      }
      this.#at += 1;
      const to = this.#member();
      if (to.startsWith('\\') && to.length > 1) throw new Unportable();
      text += `${member(from)}-${member(to)}`;
    }
    this.#at += 1;
    return `[${isNegated ? '^' : ''}${text}]`;
  }

  /** A character of a class, or `\d`, `\w`, `\s`. */
  #member(): string {
    const char = this.#next();
    if (char !== '\\') return char;
    const escaped = this.#next();
    if (SETS[escaped] !== undefined) return `\\${escaped}`;
    if (SETS[escaped.toLowerCase()] !== undefined) throw new Unportable();
    return escaped === 'b' ? '\b' : this.#escaped(escaped);
  }

  /** The character that the escape stands for. */
  #escaped(char: string): string {
    const control = CONTROLS[char];
    if (control !== undefined && !(char === '0' && /\d/.test(this.#peek()))) return String.fromCodePoint(control);
    if (char === 'x') return this.#code(/^[0-9A-Fa-f]{2}/);
    if (char === 'u') return this.#code(/^(?:[0-9A-Fa-f]{4}|\{[0-9A-Fa-f]{1,6}\})/);
    if (char === 'c') return String.fromCharCode(this.#next().charCodeAt(0) % 32);
    if (/[A-Za-z0-9]/.test(char)) throw new Unportable();
    return char;
  }

  #code(digits: RegExp): string {
    const [found] = digits.exec(this.#chars.slice(this.#at, this.#at + 8).join('')) ?? [];
    if (found === undefined) throw new Unportable();
    this.#at += found.length;
    const char = String.fromCodePoint(Number.parseInt(found.replaceAll(/[{}]/g, ''), 16));
    if (!char.isWellFormed()) throw new Unportable();
    return char;
  }

  #peek(): string {
    return this.#chars[this.#at] ?? '';
  }

  #next(): string {
    const char = this.#chars[this.#at];
    if (char === undefined) throw new Unportable();
    this.#at += 1;
    return char;
  }
}

const literal = (char: string): string => ('^$\\.*+?()[]{}|'.includes(char) ? `\\${char}` : visible(char));

/** Within a class: `[`, `&&` and `~~` mean something to Rust. */
const member = (char: string): string =>
  '&~'.includes(char) ? hex(char) : '\\]^-[|'.includes(char) ? `\\${char}` : visible(char);

// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what can't be seen.
const visible = (char: string): string => (/[\0-\x1f\x7f-\x9f]/.test(char) ? hex(char) : char);

const hex = (char: string): string => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
