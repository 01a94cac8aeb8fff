/**
 * Owns what a local provider is: published rules by which it judges a request, and how it answers, whole, streamed, and with its own
 * errors. Must not know Tidemark: it sees the bytes that the provider's own package sent.
 */

import type { LanguageModelV4 } from '@ai-sdk/provider';

/** A rule that a provider publishes: what it wants, and where that is written. */
export interface Rule {
  readonly says: string;
  /** Documentation, or where the rule is known only by its error, a report that quotes the provider's words. */
  readonly source: string;
}

/** When all sources were read. */
export const RULES_READ = '2026-11-28';

export interface Broken {
  /** `family/rule`. */
  readonly rule: string;
  readonly at: string;
}

/** Members of a request's JSON. */
export type Fields = Readonly<Record<string, unknown>>;

/** The faults that a provider can have, in the order of the table in docs/prompts.md. */
export const FAULTS = [
  'rate-limited',
  'rate-limited-with-wait',
  'unavailable',
  'context-length',
  'error-in-body',
  'cut-in-tool-call',
  'usage-absent',
  'refusal',
  'content-filter',
  'empty',
] as const;
export type Fault = (typeof FAULTS)[number];

export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly input: string;
}

/** What the model says. */
export interface Said {
  readonly reasoning?: string;
  readonly text?: string;
  readonly toolCalls?: readonly ToolCall[];
  readonly end?: 'refusal' | 'content-filter';
  readonly isUsageAbsent?: boolean;
}

export type Act = { readonly fault: Fault } | { readonly said: Said };

/** Bytes of an answer. `isCut`: the connection breaks after them. */
export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly frames: readonly (string | Uint8Array)[];
  readonly isCut?: boolean;
}

/** An error as a status, headers and a body. */
export interface ProviderError {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
}

export interface Family {
  readonly name: string;
  readonly rules: Readonly<Record<string, Rule>>;
  /** Which rules the request breaks. */
  readonly judge: (body: Fields) => readonly Broken[];
  readonly isStreamed: (path: string, body: Fields) => boolean;
  readonly whole: (said: Said) => object;
  /** The whole stream; `cutAt`: how many frames come whole when it breaks off in its first tool call. */
  readonly stream: (said: Said) => { readonly frames: readonly (string | Uint8Array)[]; readonly cutAt: number };
  readonly streamType: string;
  readonly errors: Readonly<
    Record<'rate-limited' | 'rate-limited-with-wait' | 'unavailable' | 'context-length', ProviderError>
  >;
  readonly refuse: (message: string) => ProviderError;
  /** The error that comes with status 200: as the body, and as an event of a stream. */
  readonly errorBody: object;
  readonly errorFrame: string | Uint8Array;
  /** The provider's own package, whose requests go to `fetch`. */
  readonly languageModel: (fetch: typeof globalThis.fetch, baseUrl: string) => LanguageModelV4;
}

/** Collects what a request breaks. */
export class Judge<Name extends string> {
  readonly broken: Broken[] = [];
  readonly #family: string;

  constructor(family: string, _rules: Readonly<Record<Name, Rule>>) {
    this.#family = family;
  }

  /** The rule is kept if the condition holds. */
  check(rule: Name, isKept: boolean, at: string): void {
    if (!isKept) this.broken.push({ rule: `${this.#family}/${rule}`, at });
  }
}

/** A call whose input breaks off in a stream. */
export const CUT_CALL: ToolCall = { id: 'call00001', name: 'lookup', input: '{"order":"A-4411","days":30}' };

const SAID: Readonly<Record<'cut-in-tool-call' | 'usage-absent' | 'refusal' | 'content-filter' | 'empty', Said>> = {
  'cut-in-tool-call': { text: 'Let me look.', toolCalls: [CUT_CALL] },
  'usage-absent': { text: 'The order was shipped.', isUsageAbsent: true },
  refusal: { text: "I can't help with that.", end: 'refusal' },
  'content-filter': { text: 'The first', end: 'content-filter' },
  empty: {},
};

/** What the provider answers to a request that it has read. */
export function replyOf(family: Family, act: Act, isStreamed: boolean): Reply {
  if ('said' in act) return saidReply(family, act.said, isStreamed);
  const { fault } = act;
  switch (fault) {
    case 'rate-limited':
    case 'rate-limited-with-wait':
    case 'unavailable':
    case 'context-length':
      return errorReply(family.errors[fault]);
    case 'error-in-body':
      return isStreamed
        ? { status: 200, headers: { 'content-type': family.streamType }, frames: [family.errorFrame] }
        : errorReply({ status: 200, body: family.errorBody });
    case 'cut-in-tool-call':
      return cutReply(family, SAID[fault], isStreamed);
    default:
      return saidReply(family, SAID[fault], isStreamed);
  }
}

export const errorReply = ({ status, headers, body }: ProviderError): Reply => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  frames: [JSON.stringify(body)],
});

function saidReply(family: Family, said: Said, isStreamed: boolean): Reply {
  return isStreamed
    ? { status: 200, headers: { 'content-type': family.streamType }, frames: family.stream(said).frames }
    : { status: 200, headers: { 'content-type': 'application/json' }, frames: [JSON.stringify(family.whole(said))] };
}

function cutReply(family: Family, said: Said, isStreamed: boolean): Reply {
  if (isStreamed) {
    const { frames, cutAt } = family.stream(said);
    return {
      status: 200,
      headers: { 'content-type': family.streamType },
      frames: [...frames.slice(0, cutAt), halfOf(frames[cutAt]!)],
      isCut: true,
    };
  }
  const whole = JSON.stringify(family.whole(said));
  return {
    status: 200,
    headers: { 'content-type': 'application/json' },
    frames: [whole.slice(0, Math.floor(whole.length / 2))],
    isCut: true,
  };
}

const halfOf = (frame: string | Uint8Array): string | Uint8Array => frame.slice(0, Math.floor(frame.length / 2));

/** Server-sent events, with a name where the provider names them. */
export const event = (data: object | string, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;

export const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
export const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fieldsOf) : []);
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
export const isBlank = (value: unknown): boolean => textOf(value).trim() === '';
export const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Members of the request that the provider doesn't know. */
export const unknownMembers = (body: Fields, known: readonly string[]): readonly string[] =>
  Object.keys(body).filter((name) => !known.includes(name));

/** Tokens, by four characters each: enough to notice a prompt many times too long. */
export const roughTokens = (body: Fields): number => Math.ceil(JSON.stringify(body).length / 4);

export const hasDuplicates = (values: readonly string[]): boolean => new Set(values).size < values.length;

/** The words of the text as pieces of a stream; halves of a call's input. */
export const wordsOf = (text: string): readonly string[] => text.match(/\S+\s*/g) ?? [];
export const halvesOf = (text: string): readonly [string, string] => {
  const half = Math.floor(text.length / 2);
  return [text.slice(0, half), text.slice(half)];
};

/** Syntax of regular expressions beyond RE2, which checks them in Go, Rust and most providers. */
const BEYOND_RE2 = /\(\?(?:[=!]|<[=!])|\\[1-9]|\\p\{|\\k</;

/** Whether a tool's schema is an object's, with patterns that every engine takes. */
export function isPortableSchema(schema: unknown): boolean {
  return fieldsOf(schema).type === 'object' && patternsOf(schema).every((pattern) => !BEYOND_RE2.test(pattern));
}

function patternsOf(value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'pattern' && typeof member === 'string' ? [member] : patternsOf(member),
  );
}
