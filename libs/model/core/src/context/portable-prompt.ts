/**
 * Owns the form in which messages are sent: whatever a bundle, a step's prompt, a repair or a summary produced, every family of providers
 * takes the result. docs/prompts.md names the rules and who refuses otherwise. Pure; it counts and trims nothing.
 *
 * Invariants: no word of a message is lost; what is made of messages does not depend on those after them, so the prompt of the next turn
 * begins with the bytes of this one (prompt caches); a message or part with fields of its own (a provider's) is moved and renamed, never
 * joined to another. A change of bytes needs a new form, and the old one stays: past calls are rebuilt by the form that their record names.
 */

import { canonicalJson } from '../canonical.ts';
import { InvalidError } from '../errors.ts';
import type { BundleMessage, FilePart, OpaquePart, TextPart, ToolCallPart, ToolResultPart } from './message.ts';
import { OpenCalls } from './open-calls.ts';

/** `1`: the form that all but Mistral's models take; `1-mistral`: theirs. */
export const PROMPT_FORMS = ['1', '1-mistral'] as const;
export type PromptForm = (typeof PROMPT_FORMS)[number];

/** The user's turn where providers want one and nobody said anything: before the first answer, and after the last. */
const GO_ON_TEXT = 'Please continue.';
/** The assistant's turn that Mistral's models want between results and the user. */
const SEEN_TEXT = 'I have the results.';
const NO_RESULT_TEXT = '(This call has no result.)';
export const NO_OUTPUT_TEXT = '(no output)';

/** Names that every family takes; Gemini wants a letter or _ first. Longest names and ids, in characters. */
const PORTABLE_NAME = /^[A-Za-z_][A-Za-z0-9_-]*$/;
const PORTABLE_ID = /^[A-Za-z0-9_-]+$/;
const PORTABLE_MAX_CHARS = 64;
/** Longest id that OpenAI's chat completions take. */
const ID_MAX_CHARS = 40;
/** Characters of such an id that leave room for a number. */
const NUMBERED_ID_MAX_CHARS = 32;
/** Longest id of a call that a fragment keeps. */
const CALL_ID_MAX_CHARS = 512;
const MISTRAL_ID = /^[A-Za-z0-9]{9}$/;
const DIGEST_CHARS = 9;

export interface PortablePrompt {
  readonly messages: readonly BundleMessage[];
  /** The texts that it added, for those who count tokens. */
  readonly added: readonly string[];
  /** Names of tools that had to be made fit, by what they became: an answer may name them. */
  readonly originals: ReadonlyMap<string, string>;
}

type Part = TextPart | ToolCallPart | ToolResultPart | OpaquePart | FilePart;
interface Turn {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: Part[];
  /** The message has fields of its own. */
  readonly own?: BundleMessage | undefined;
}

/**
 * Makes the messages of one call fit. `declared`: the names under which tools are offered, by their real names. Throws `InvalidError`
 * (`prompt-form-unknown`, `prompt-missing`, `prompt-invalid`).
 */
export function portablePrompt(
  messages: readonly BundleMessage[],
  form: string,
  declared: ReadonlyMap<string, string> = new Map(),
): PortablePrompt {
  if (!(PROMPT_FORMS as readonly string[]).includes(form)) throw formUnknown(form);
  if (messages.length === 0)
    throw new InvalidError('prompt-missing', 'The prompt has no message: there is nothing to ask.');
  const given = messages.map(turnOf);
  const writer = new PromptWriter(form === '1-mistral', declared);
  const results = pairedResults(given);
  const begins = given.findIndex(({ role }) => role !== 'system');
  const isHead = ({ role, own }: Turn, at: number): boolean =>
    role === 'system' && (own === undefined || begins < 0 || at < begins);
  writer.system(given.filter(isHead));
  for (const [at, turn] of given.entries()) {
    if (turn.role === 'system' && !isHead(turn, at)) writer.own(turn);
    else if (turn.role === 'user') writer.user(turn);
    else if (turn.role === 'assistant') writer.assistant(turn, results);
    else if (turn.role === 'tool') writer.strays(turn, results);
  }
  return writer.ended();
}

/** A name that every family takes: its own where it is one, else one with a digest, so that two names stay two. */
export function portableName(name: string): string {
  if (PORTABLE_NAME.test(name) && name.length <= PORTABLE_MAX_CHARS) return name;
  const safe = name.replace(/[^A-Za-z0-9_-]/g, '_').replace(/^(?![A-Za-z_])/, '_');
  return `${safe.slice(0, PORTABLE_MAX_CHARS - DIGEST_CHARS - 1)}-${shortDigest(name)}`;
}

/** A column can hold it. */
const isStorable = (text: string): boolean => !/[\p{Cc}\p{Cs}]/u.test(text);

/**
 * Gives the calls of one answer their ids as they come: distinct, storable, none empty and none too long. What acts on a call, and the
 * fragments of both, know it by its id.
 */
export function callIds(): (id: string) => string {
  const used = new Set<string>();
  let count = 0;
  return (given) => {
    const id = given === '' || given.length > CALL_ID_MAX_CHARS || !isStorable(given) ? 'call' : given;
    count += 1;
    let own = id === given ? id : `${id}-${count}`;
    for (let n = count + 1; used.has(own); n++) own = `${id}-${n}`;
    used.add(own);
    return own;
  };
}

const isBlank = (text: unknown): boolean => typeof text === 'string' && text.trim() === '';
/** An answer with parts that its provider wants back as they were. */
const isSigned = ({ content }: Turn): boolean =>
  content.some((part) => part.type === 'opaque' || 'providerOptions' in part);
const isPlainText = (part: Part): part is TextPart => part.type === 'text' && Object.keys(part).length === 2;
/** A call that the provider made and answered by itself has its result beside it, in a form of the provider's own. */
const isCall = (part: Part): part is ToolCallPart => part.type === 'tool-call' && !('providerExecuted' in part);

function turnOf(message: BundleMessage, at: number): Turn {
  const { role, content } = message as { readonly role: Turn['role']; readonly content: string | readonly Part[] };
  const own = Object.keys(message).length === 2 ? undefined : message;
  if (!['system', 'user', 'assistant', 'tool'].includes(role))
    throw messageInvalid(at, `the role ${JSON.stringify(role)}`);
  const parts = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  if (!Array.isArray(parts)) throw messageInvalid(at, 'no content');
  return { role, own, content: parts.filter((part) => !(isPlainText(part) && isBlank(part.text))) };
}

/** A result, and the message in which it came, where that has fields of its own. */
interface Answered {
  readonly result: ToolResultPart;
  readonly own: BundleMessage | undefined;
}

/** Each call with its result, and each result that has a call. */
function pairedResults(turns: readonly Turn[]): ReadonlyMap<Part, Answered> {
  const open = new OpenCalls<ToolCallPart>();
  const paired = new Map<Part, Answered>();
  for (const [at, turn] of turns.entries()) {
    for (const part of turn.content) {
      if (turn.role === 'assistant' && isCall(part)) open.add(part.id, at, part.name, part);
      if (turn.role !== 'tool' || part.type !== 'tool-result') continue;
      const call = open.take(part.id, part.name);
      const answered = { result: part, own: turn.own };
      if (call !== undefined) paired.set(call, answered).set(part, answered);
    }
  }
  return paired;
}

class PromptWriter {
  readonly #isMistral: boolean;
  readonly #declared: ReadonlyMap<string, string>;
  readonly #turns: Turn[] = [];
  readonly #added: string[] = [];
  readonly #originals = new Map<string, string>();
  readonly #ids = new Set<string>();
  /** The last number that was given to an id. */
  readonly #numbers = new Map<string, number>();

  constructor(isMistral: boolean, declared: ReadonlyMap<string, string>) {
    this.#isMistral = isMistral;
    this.#declared = declared;
  }

  /** One message, first: templates of open models take no second one. */
  system(turns: readonly Turn[]): void {
    const said = turns.filter(({ content }) => content.length > 0);
    if (said.some(({ own }) => own !== undefined)) this.#turns.push(...said);
    else if (said.length > 0) this.#turns.push({ role: 'system', content: [joined(said.flatMap(textsOf))] });
  }

  /** A message that means something to its provider where it stands. */
  own(turn: Turn): void {
    this.#turns.push(turn);
  }

  user(turn: Turn): void {
    if (turn.content.length === 0) return;
    if (this.#isMistral && this.#turns.at(-1)?.role === 'tool')
      this.#push({ role: 'assistant', content: [this.#add(SEEN_TEXT)] });
    this.#push(turn);
  }

  assistant(turn: Turn, results: ReadonlyMap<Part, Answered>): void {
    const first = turn.content.findIndex(isCall);
    // It goes back in its own order.
    const late = first < 0 || isSigned(turn) ? [] : turn.content.slice(first).filter(isPlainText);
    const content = turn.content.filter((part) => !late.includes(part as TextPart));
    if (first >= 0) content.splice(first, 0, ...late);
    if (content.length === 0) return;
    // What a provider signed stands in no other answer.
    const last = this.#turns.at(-1);
    if (this.#isUnbegun || (last?.role === 'assistant' && (isSigned(last) || isSigned(turn)))) this.#goOn();
    const answered: ToolResultPart[] = [];
    let answeredOwn: BundleMessage | undefined;
    const said = content.map((part): Part => {
      if (!isCall(part)) return part;
      const named = { id: this.#idFor(part.id), name: this.#nameFor(part.name) };
      const { result, own } = results.get(part) ?? {};
      // Of several the last: what marks the end of a cached prefix stands there.
      answeredOwn = own ?? answeredOwn;
      if (result === undefined) this.#added.push(NO_RESULT_TEXT);
      else if (isBlank(result.output)) this.#added.push(NO_OUTPUT_TEXT);
      const output = isBlank(result?.output) ? NO_OUTPUT_TEXT : (result?.output ?? NO_RESULT_TEXT);
      answered.push({ type: 'tool-result', ...result, ...named, output });
      return { ...part, ...named, input: isObject(part.input) ? part.input : { text: textOf(part.input) } };
    });
    this.#push({ ...turn, content: said });
    if (answered.length > 0) this.#turns.push({ role: 'tool', own: answeredOwn, content: answered });
  }

  /** Results that no call waits for are what the user tells; parts of a provider's own form stay where they are. */
  strays({ own, content }: Turn, results: ReadonlyMap<Part, Answered>): void {
    const others = content.filter((part) => part.type !== 'tool-result');
    if (others.length > 0)
      this.#turns.push({ role: 'tool', own: own ?? { role: 'tool', content: [] }, content: others });
    const told = content.flatMap((part): readonly TextPart[] => {
      if (part.type !== 'tool-result' || results.has(part)) return [];
      const { text } = this.#add(`Result of ${part.name}:`);
      return [{ type: 'text', text: `${text}\n${textOf(part.output)}` }];
    });
    this.user({ role: 'user', own: others.length > 0 ? undefined : own, content: told });
  }

  ended(): PortablePrompt {
    if (this.#isUnbegun || this.#turns.at(-1)?.role === 'assistant') this.#goOn();
    const messages = this.#turns.map(({ role, content, own }) => {
      const said = role === 'system' ? content.map((part) => (part as TextPart).text).join('\n\n') : content;
      return { ...own, role, content: said } as BundleMessage;
    });
    return { messages, added: this.#added, originals: this.#originals };
  }

  get #isUnbegun(): boolean {
    const last = this.#turns.at(-1)?.role;
    return last === undefined || last === 'system';
  }

  #goOn(): void {
    this.#push({ role: 'user', content: [this.#add(GO_ON_TEXT)] });
  }

  #add(text: string): TextPart {
    this.#added.push(text);
    return { type: 'text', text };
  }

  /** Joins what one side says in a row, where no field of a provider's would be lost. */
  #push(turn: Turn): void {
    const last = this.#turns.at(-1);
    if (last === undefined || last.role !== turn.role || last.own !== undefined || turn.own !== undefined) {
      this.#turns.push({ ...turn, content: [] });
    }
    const { content } = this.#turns.at(-1)!;
    for (const part of turn.content) {
      const before = content.at(-1);
      if (turn.own === undefined && before !== undefined && isPlainText(before) && isPlainText(part))
        content[content.length - 1] = joined([before, part]);
      else content.push(part);
    }
  }

  #nameFor(name: string): string {
    const sent = this.#declared.get(name) ?? portableName(name);
    if (sent !== name) this.#originals.set(sent, name);
    return sent;
  }

  #idFor(id: string): string {
    const isFit = this.#isMistral ? MISTRAL_ID.test(id) : PORTABLE_ID.test(id) && id.length <= ID_MAX_CHARS;
    let sent = id;
    for (let taken = !isFit || this.#ids.has(sent); taken; taken = this.#ids.has(sent)) {
      const number = (this.#numbers.get(id) ?? 0) + 1;
      this.#numbers.set(id, number);
      sent = this.#isMistral ? shortDigest(`${id}#${number}`) : numbered(id, number);
    }
    this.#ids.add(sent);
    return sent;
  }
}

const joined = (texts: readonly TextPart[]): TextPart => ({
  type: 'text',
  text: texts.map(({ text }) => text).join('\n\n'),
});
const textsOf = ({ content }: Turn): readonly TextPart[] => content.filter(isPlainText);
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);
const textOf = (value: unknown): string => (typeof value === 'string' ? value : canonicalJson(value as never));

function numbered(id: string, number: number): string {
  const safe = id.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, NUMBERED_ID_MAX_CHARS);
  return number === 1 && safe !== id && safe !== '' ? safe : `${safe === '' ? 'call' : safe}-${number}`;
}

/** Nine letters and digits by FNV-1a, twice. */
function shortDigest(text: string): string {
  const digest = (seed: number): number => {
    let sum = seed;
    for (let at = 0; at < text.length; at++) sum = Math.imul(sum ^ text.charCodeAt(at), 16_777_619);
    return sum >>> 0;
  };
  const both = digest(2_166_136_261) * 2 ** 20 + (digest(40_389) >>> 12);
  return both.toString(36).padStart(DIGEST_CHARS, '0').slice(-DIGEST_CHARS);
}

const formUnknown = (form: string): InvalidError =>
  new InvalidError(
    'prompt-form-unknown',
    `The call was sent in the form ${JSON.stringify(form)}, which this version does not know (it knows ${PROMPT_FORMS.join(', ')}): use the version that made the call, or a newer one.`,
    { form },
  );

const messageInvalid = (at: number, what: string): InvalidError =>
  new InvalidError(
    'prompt-invalid',
    `prompt, message ${at + 1} has ${what}: give { role, content } with the role system, user, assistant or tool.`,
    { at },
  );
