/**
 * Owns masking of known secrets in what comes back from outside: receivers and providers quote requests in answers and errors. It finds a
 * secret verbatim and in these forms: in a JSON string (encoded once or twice; `/` and non-ASCII verbatim or escaped, and `&`, `<` and `>`
 * escaped as Go does), percent-encoded (as a part of an address, as a form, and each byte), HTML-escaped (by name or number), base64 and
 * base64url (at any offset of the encoded text), and hexadecimal. It doesn't find other forms (compressed, split, hashed, reversed), nor
 * secrets shorter than `ECHO_MIN_CHARS`, which would mask half of every text. It takes time linear in the text: a text in which too much
 * resembles the beginning of a secret is masked whole. Must never reveal a secret. Pure.
 */

/** Shortest secret that is masked in an echo: a shorter one would mask half of every text. */
const ECHO_MIN_CHARS = 6;
/** Levels of nesting that are masked: deeper data is stored nowhere. */
const ECHO_DEPTH_MAX = 1_000;
/**
 * Characters of secrets that are compared with one text: this many for each of its own, plus a minimum. A text that would need more is
 * masked whole.
 */
const ECHO_WORK_FACTOR = 64;
const ECHO_WORK_MIN_CHARS = 1_048_576;

export class EchoMask {
  readonly #mark: string;
  /** By first characters; the longest first, so that no part of one remains. */
  readonly #forms = new Map<string, string[]>();

  constructor(secrets: Iterable<string>, mark: string) {
    this.#mark = mark;
    for (const form of new Set([...secrets].flatMap(formsOf))) {
      const start = form.slice(0, ECHO_MIN_CHARS);
      const others = this.#forms.get(start);
      if (others === undefined) this.#forms.set(start, [form]);
      else others.push(form);
    }
    for (const forms of this.#forms.values()) forms.sort((a, b) => b.length - a.length);
  }

  get isEmpty(): boolean {
    return this.#forms.size === 0;
  }

  text(text: string): string {
    if (this.isEmpty) return text;
    let masked = '';
    let from = 0;
    let workChars = ECHO_WORK_MIN_CHARS + text.length * ECHO_WORK_FACTOR;
    for (let at = 0; at + ECHO_MIN_CHARS <= text.length; ) {
      const forms = this.#forms.get(text.slice(at, at + ECHO_MIN_CHARS));
      const found = forms?.find((form) => {
        if (form.length > text.length - at) return false;
        workChars -= form.length;
        return workChars >= 0 && text.startsWith(form, at);
      });
      if (workChars < 0) return this.#mark;
      if (found === undefined) {
        at += 1;
        continue;
      }
      masked += text.slice(from, at) + this.#mark;
      at += found.length;
      from = at;
    }
    return from === 0 ? text : masked + text.slice(from);
  }

  /** Masks a truncated text: the beginning of a secret at the cut is masked as well. */
  cutText(text: string): string {
    const masked = this.text(text);
    for (const form of [...this.#forms.values()].flat()) {
      for (let length = Math.min(form.length - 1, masked.length); length >= ECHO_MIN_CHARS; length -= 1) {
        if (masked.endsWith(form.slice(0, length))) return masked.slice(0, -length);
      }
    }
    return masked;
  }

  /**
   * Masks JSON, including names of members: every text that isn't `kept`; a number that is a secret becomes 0. Anything but plain data is
   * returned unchanged.
   */
  value<T>(value: T, kept: (text: string) => boolean = () => false): T {
    return this.isEmpty ? value : (this.#value(value, kept, 0) as T);
  }

  #value(value: unknown, kept: (text: string) => boolean, depth: number): unknown {
    if (typeof value === 'string') return kept(value) ? value : this.text(value);
    if (typeof value === 'number') return this.text(String(value)) === String(value) ? value : 0;
    if (typeof value !== 'object' || value === null || depth > ECHO_DEPTH_MAX) return value;
    if (Array.isArray(value)) return value.map((each) => this.#value(each, kept, depth + 1));
    if (!isPlain(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [this.text(name), this.#value(each, kept, depth + 1)]),
    );
  }

  /** The same error with all of its texts and its causes masked; any other thrown value is masked as a value. */
  error(error: unknown): unknown {
    return this.isEmpty ? error : this.#error(error, new Set());
  }

  #error(error: unknown, seen: Set<unknown>): unknown {
    if (!(error instanceof Error)) return this.value(error);
    if (seen.has(error)) return error;
    seen.add(error);
    // The message first: a stack that doesn't exist yet is built from it.
    for (const name of new Set(['message', 'stack', ...Object.getOwnPropertyNames(error)])) {
      const value: unknown = error[name as keyof Error];
      const masked = Array.isArray(value) ? value.map((each) => this.#error(each, seen)) : this.#error(value, seen);
      if (masked !== value) redefine(error, name, masked);
    }
    return error;
  }
}

const isPlain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

/** Throws when the error is frozen: it must not be passed on. */
function redefine(error: Error, name: string, value: unknown): void {
  const enumerable = Object.getOwnPropertyDescriptor(error, name)?.enumerable ?? false;
  Object.defineProperty(error, name, { value, configurable: true, writable: true, enumerable });
}

function formsOf(given: string): readonly string[] {
  if (given.length < ECHO_MIN_CHARS) return [];
  const secret = given.toWellFormed();
  const json = JSON.stringify(secret).slice(1, -1);
  const slashes = json.replaceAll('/', '\\/');
  const plain = [json, slashes, json.replaceAll(/[&<>]/g, (each) => escapeOf(each))];
  const small = [...plain, ...plain.map(inAscii)];
  const escaped = [
    ...small,
    ...small.map((each) => each.replaceAll(/\\u[0-9a-f]{4}/g, (code) => `\\u${code.slice(2).toUpperCase()}`)),
  ];
  const bytes = Buffer.from(secret);
  const hex = bytes.toString('hex');
  const eachByte = hex.toUpperCase().replaceAll(/../g, (code) => `%${code}`);
  const part = encodeURIComponent(secret);
  const strict = part.replaceAll(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
  const encoded = [
    part,
    strict,
    part.replaceAll('%20', '+'),
    strict.replaceAll('%20', '+'),
    encodeURI(secret),
    eachByte,
  ];
  const base64 = [0, 1, 2].flatMap((before) => base64At(bytes, before));
  const forms = [
    ...[given, secret, htmlOf(secret), ...[10, 16].map((base) => htmlCodesOf(secret, base)), hex, hex.toUpperCase()],
    ...[...escaped, ...escaped.map((each) => JSON.stringify(each).slice(1, -1))],
    ...[...encoded, ...encoded.map((each) => each.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))],
    ...[...base64, ...base64.map((each) => each.replaceAll('+', '-').replaceAll('/', '_'))],
  ];
  return forms.filter((form) => form.length >= ECHO_MIN_CHARS);
}

const inAscii = (text: string): string => text.replaceAll(/[^ -~]/g, escapeOf);

const escapeOf = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

const HTML: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const htmlOf = (text: string): string => text.replaceAll(/[&<>"']/g, (each) => HTML[each]!);
/** `&`, `<` and `>` by name and quotes by number, as templates write them. */
const htmlCodesOf = (text: string, base: number): string =>
  text
    .replaceAll(/[&<>]/g, (each) => HTML[each]!)
    .replaceAll(/["']/g, (each) => `&#${base === 16 ? 'x' : ''}${each.charCodeAt(0).toString(base)};`);

/**
 * The characters of the encoding that don't depend on the bytes around it, for `before` bytes in front (modulo 3), and the encoding of the
 * bytes at the end of a text.
 */
function base64At(bytes: Buffer, before: number): readonly string[] {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replaceAll('=', '');
  const sure = text.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  return before === 0 ? [text, sure] : [sure];
}
