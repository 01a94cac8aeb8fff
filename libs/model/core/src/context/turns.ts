/**
 * Owns how the kept part of a conversation becomes messages, and what each costs. Must not decide what is kept.
 *
 * Invariants: every result directly follows the assistant's message that made its call, so every provider accepts the list; the calls of
 * one answer are in one message, and so are their results; texts stay verbatim.
 */

import type { Json } from '../belief.ts';
import type { ToolPair } from './conversation.ts';
import { countUpTo } from './cut.ts';
import { comparePlaces, type Fragment, placeName } from './fragment.ts';
import { MESSAGE_OVERHEAD_TOKENS, WHOLE_MAX_CHARS } from './limits.ts';
import type { BundleMessage, TextPart, ToolCallPart, ToolResultPart } from './message.ts';
import type { Tokenizer } from './tokenizer.ts';

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

/** Counts the turn; where it is long and has more than `limit` tokens, only as far as that is known. */
export function turnTokens(turn: Turn, tokenizer: Tokenizer, limit = Number.POSITIVE_INFINITY): TurnTokens {
  const frame = frameTokens(turn, tokenizer);
  const isTool = turn.kind === 'tool';
  const text = isTool ? JSON.stringify(inputOf(turn.pair.call)) : turn.message.text;
  const result = isTool ? (turn.pair.result?.text ?? '') : '';
  const said = frame + countUpTo(text, tokenizer, limit);
  const answered = isTool ? frame + countUpTo(result, tokenizer, limit) : 0;
  const isPartial = said + answered > limit && text.length + result.length > WHOLE_MAX_CHARS;
  return isPartial ? { said, answered, isPartial } : { said, answered };
}

/** What each half of the turn costs beyond its text. */
export const frameTokens = (turn: Turn, tokenizer: Tokenizer): number =>
  MESSAGE_OVERHEAD_TOKENS + (turn.kind === 'tool' ? CALL_OVERHEAD_TOKENS + tokenizer.count(nameOf(turn.pair)) : 0);

interface Round {
  readonly parts: (TextPart | ToolCallPart)[];
  readonly results: ToolResultPart[];
  readonly run: number;
  sequence: number;
  /** A result came: what the assistant says next is another message. */
  answered: boolean;
}

const text = (content: string): TextPart => ({ text: content, type: 'text' });

/** The turns as messages, in the order of the conversation. */
export function conversationMessages(turns: readonly Turn[]): readonly BundleMessage[] {
  const messages: BundleMessage[] = [];
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
      messages.push({ content: [text(turn.message.text)], role: 'user' });
    } else if (turn.kind === 'agent') {
      // One answer of a model may hold text and calls: they came with one checkpoint.
      const same = round !== undefined && !round.answered && isAt(round, fragment);
      const current: Round = same ? (round as Round) : open(fragment);
      current.parts.push(text(turn.message.text));
    } else if (fragment.type === 'tool_call' || turn.pair.call === undefined) {
      const joins = round !== undefined && !round.answered && turn.pair.call !== undefined;
      const current: Round = joins ? (round as Round) : open(fragment);
      current.sequence = fragment.sequence;
      current.parts.push(callPart(turn.pair));
      current.results.push(resultPart(turn.pair));
      current.answered = turn.pair.call === undefined;
    } else if (round !== undefined) round.answered = true;
  }
  flush();
  return messages;
}

const isAt = (round: Round, { run, sequence }: Fragment): boolean => round.run === run && round.sequence === sequence;

/** Every fragment of the turns, by place. */
function inOrder(turns: readonly Turn[]): readonly { readonly fragment: Fragment; readonly turn: Turn }[] {
  return turns
    .flatMap((turn) => {
      const fragments = turn.kind === 'tool' ? [turn.pair.call, turn.pair.result] : [turn.message];
      return fragments.flatMap((fragment) => (fragment === undefined ? [] : [{ fragment, turn }]));
    })
    .sort((a, b) => comparePlaces(a.fragment, b.fragment));
}
