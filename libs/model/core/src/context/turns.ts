/**
 * Owns how the kept part of a conversation becomes messages, and what each costs. Must not decide what is kept.
 *
 * Invariants: every result directly follows the assistant's message that made its call, so every provider accepts the list; the calls of
 * one answer are in one message, and so are their results; texts stay verbatim; the parts of an answer are in its order.
 */

import type { Json } from '../belief.ts';
import type { ToolPair } from './conversation.ts';
import { countUpTo } from './cut.ts';
import { comparePlaces, type Fragment, placeName } from './fragment.ts';
import { MESSAGE_OVERHEAD_TOKENS, WHOLE_MAX_CHARS } from './limits.ts';
import type { AssistantPart, BundleMessage, TextPart, ToolCallPart, ToolResultPart } from './message.ts';
import type { Tokenizer } from './tokenizer.ts';
import { type WholeMessages, type WholePart, wholeTokens } from './whole-message.ts';

/** What a provider spends on a tool call or result beyond its message, its name and its text. */
const CALL_OVERHEAD_TOKENS = 8;

/** What is kept or trimmed together: a message, or a call with its result. */
export type Turn =
  | { readonly kind: 'user'; readonly message: Fragment }
  | { readonly kind: 'agent'; readonly message: Fragment }
  | { readonly kind: 'tool'; readonly pair: ToolPair };

const nameOf = ({ call, result }: ToolPair): string => call?.tool ?? result?.tool ?? 'tool';
/** A result without a call gets one, because providers accept no result alone. */
const idOf = ({ call, result }: ToolPair): string =>
  call?.call ?? result?.call ?? `call-${placeName((call ?? result) as Fragment)}`;

/** A call's input. Providers want an object: anything else, or text that isn't JSON, is wrapped in one. */
export function inputOf(call: Fragment | undefined): Json {
  if (call === undefined) return {};
  try {
    const input = JSON.parse(call.text) as Json;
    if (typeof input === 'object' && input !== null && !Array.isArray(input)) return input;
    if (typeof input === 'string') return { text: input };
  } catch {
    // The model wrote something that isn't JSON: show it as text.
  }
  return { text: call.text };
}

const callPart = (pair: ToolPair): ToolCallPart => ({
  id: idOf(pair),
  input: inputOf(pair.call),
  name: nameOf(pair),
  type: 'tool-call',
});
const resultPart = (pair: ToolPair): ToolResultPart => ({
  id: idOf(pair),
  name: nameOf(pair),
  output: pair.result?.text ?? '',
  type: 'tool-result',
});

/** Tokens of the fragments of one turn, each counted as a message of its own. */
export interface TurnTokens {
  /** Tokens of the message, or of the call (0 when the log has no call). */
  readonly said: number;
  /** Of the result. */
  readonly answered: number;
  /** It is known not to fit, and was not counted to its end. */
  readonly isPartial?: true;
}

/** The fragment by which the turn begins. */
export const saidIn = (turn: Turn): Fragment =>
  turn.kind === 'tool' ? ((turn.pair.call ?? turn.pair.result) as Fragment) : turn.message;

/** Counts the turn; where it is long and has more than `limit` tokens, only as far as that is known. */
export function turnTokens(
  turn: Turn,
  tokenizer: Tokenizer,
  wholes: WholeMessages,
  limit = Number.POSITIVE_INFINITY,
): TurnTokens {
  const frame = frameTokens(turn, tokenizer);
  const said = frame + saidTokens(turn, tokenizer, wholes, limit);
  if (turn.kind !== 'tool') {
    const isPartial = said > limit && turn.message.text.length > WHOLE_MAX_CHARS;
    return { said, answered: 0, ...(isPartial && { isPartial }) };
  }
  const result = turn.pair.result?.text ?? '';
  const answered = frame + countUpTo(result, tokenizer, limit);
  const chars = (turn.pair.call?.text.length ?? 0) + result.length;
  const isPartial = said + answered > limit && chars > WHOLE_MAX_CHARS;
  return { said, answered, ...(isPartial && { isPartial }) };
}

/** What is said in the turn, without its frame. The first fragment of a message with parts also pays for these, and for all of its text. */
export function saidTokens(turn: Turn, tokenizer: Tokenizer, wholes: WholeMessages, limit: number): number {
  const fragment = saidIn(turn);
  const whole = wholes.get(fragment);
  const parts = whole?.members[0] === fragment ? wholeTokens(whole, tokenizer) : 0;
  if (turn.kind === 'tool') return parts + countUpTo(JSON.stringify(inputOf(turn.pair.call)), tokenizer, limit);
  return whole === undefined ? countUpTo(turn.message.text, tokenizer, limit) : parts;
}

/** What each half of the turn costs beyond its text. */
export const frameTokens = (turn: Turn, tokenizer: Tokenizer): number =>
  MESSAGE_OVERHEAD_TOKENS + (turn.kind === 'tool' ? CALL_OVERHEAD_TOKENS + tokenizer.count(nameOf(turn.pair)) : 0);

interface Round {
  readonly parts: AssistantPart[];
  readonly results: ToolResultPart[];
  readonly run: number;
  sequence: number;
  /** A result came: what the assistant says next is another message. */
  answered: boolean;
}

const text = (content: string): TextPart => ({ text: content, type: 'text' });

/** The turns as messages, in the order of the conversation. */
export function conversationMessages(turns: readonly Turn[], wholes: WholeMessages): readonly BundleMessage[] {
  const messages: BundleMessage[] = [];
  const pairs = new Map(turns.flatMap((turn) => (turn.kind === 'tool' ? [[saidIn(turn), turn.pair] as const] : [])));
  const sent = (part: WholePart): Exclude<WholePart, { type: 'call' }> | ToolCallPart => {
    if (part.type !== 'call') return part;
    const { providerOptions } = part;
    return { ...callPart(pairs.get(part.call)!), ...(providerOptions !== undefined && { providerOptions }) };
  };
  /** What the fragment adds: all of a message with parts comes with its first one. */
  const partsOf = <P extends TextPart | ToolCallPart>(fragment: Fragment, plain: () => P): readonly P[] => {
    const whole = wholes.get(fragment);
    if (whole === undefined) return [plain()];
    return whole.members[0] === fragment ? (whole.parts.map(sent) as unknown as readonly P[]) : [];
  };
  let round: Round | undefined;
  const flush = (): void => {
    if (round === undefined) return;
    messages.push({ content: round.parts, role: 'assistant' });
    if (round.results.length > 0) messages.push({ content: round.results, role: 'tool' });
    round = undefined;
  };
  const open = (at: Fragment): Round => {
    flush();
    round = { parts: [], results: [], run: at.run, sequence: at.sequence, answered: false };
    return round;
  };
  for (const { fragment, turn } of inOrder(turns)) {
    if (turn.kind === 'user') {
      flush();
      messages.push({ content: partsOf(fragment, () => text(turn.message.text)), role: 'user' });
    } else if (turn.kind === 'agent') {
      // One answer of a model may hold text and calls: they came with one checkpoint.
      const same = round !== undefined && !round.answered && isAt(round, fragment) && !begins(fragment, wholes);
      const current: Round = same ? (round as Round) : open(fragment);
      current.parts.push(...partsOf(fragment, () => text(turn.message.text)));
    } else if (fragment.type === 'tool_call' || turn.pair.call === undefined) {
      const isOpen = round !== undefined && !round.answered && !begins(fragment, wholes);
      const joins = isOpen && turn.pair.call !== undefined;
      const current: Round = joins ? (round as Round) : open(fragment);
      current.sequence = fragment.sequence;
      current.parts.push(...partsOf(fragment, () => callPart(turn.pair)));
      current.results.push(resultPart(turn.pair));
      current.answered = turn.pair.call === undefined;
    } else if (round !== undefined) round.answered = true;
  }
  flush();
  return messages;
}

const isAt = (round: Round, { run, sequence }: Fragment): boolean => round.run === run && round.sequence === sequence;

/** Answers with parts are messages of their own: what one provider signed must not stand in another answer. */
const begins = (fragment: Fragment, wholes: WholeMessages): boolean => wholes.get(fragment)?.members[0] === fragment;

/** Every fragment of the turns, by place. */
function inOrder(turns: readonly Turn[]): readonly { readonly fragment: Fragment; readonly turn: Turn }[] {
  return turns
    .flatMap((turn) => {
      const fragments = turn.kind === 'tool' ? [turn.pair.call, turn.pair.result] : [turn.message];
      return fragments.flatMap((fragment) => (fragment === undefined ? [] : [{ fragment, turn }]));
    })
    .sort((a, b) => comparePlaces(a.fragment, b.fragment));
}
