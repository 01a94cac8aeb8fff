/**
 * Owns content beside the answer's own text and tool calls: where it repeats those, only its place there is stored, so that each text is
 * recorded once. Pure. Invariant: unfolding gives exactly what was folded.
 */

import type { LanguageModelV4Content, LanguageModelV4Text, LanguageModelV4ToolCall } from '@ai-sdk/provider';
import type { Json } from '@tidemark/core';
import type { ModelToolCall } from '@tidemark/runtime';

/** Characters from which on text in a tool call's input is stored once although it is recorded in two forms. */
const FOLDED_MIN_CHARS = 256;

/** The parts of the answer that are recorded besides. */
export interface AnswerText {
  readonly text: string;
  readonly toolCalls: readonly ModelToolCall[];
}

/** The next so many characters of the answer's text. */
type FoldedText = Omit<LanguageModelV4Text, 'text'> & { readonly chars: number };
/** Text, and numbers that stand for the long texts in the recorded input; null: the recorded input itself, which is no JSON. */
type Pieces = readonly (string | number)[] | null;
type FoldedCall = Omit<LanguageModelV4ToolCall, 'input'> & { readonly pieces: Pieces };
export type FoldedPart = LanguageModelV4Content | FoldedText | FoldedCall;

/** A call that the provider has not run itself. */
export const isOwnCall = (part: { readonly type: string }): part is LanguageModelV4ToolCall =>
  part.type === 'tool-call' && (part as LanguageModelV4ToolCall).providerExecuted !== true;

export function folded(
  content: readonly LanguageModelV4Content[],
  { text, toolCalls }: AnswerText,
): readonly FoldedPart[] {
  let chars = 0;
  let calls = 0;
  return content.map((part): FoldedPart => {
    if (part.type === 'text' && text.startsWith(part.text, chars)) {
      const { text: own, ...rest } = part;
      chars += own.length;
      return { ...rest, chars: own.length };
    }
    return isOwnCall(part) ? foldedCall(part, toolCalls[calls++]) : part;
  });
}

export function unfolded(
  content: readonly FoldedPart[],
  { text, toolCalls }: AnswerText,
): readonly LanguageModelV4Content[] {
  let start = 0;
  let calls = 0;
  return content.map((part): LanguageModelV4Content => {
    if ('chars' in part) {
      const { chars, ...rest } = part;
      start += chars;
      return { ...rest, text: text.slice(start - chars, start) };
    }
    const call = isOwnCall(part) ? toolCalls[calls++] : undefined;
    if (!('pieces' in part)) return part;
    const { pieces, ...rest } = part;
    return { ...rest, input: joined(pieces, call?.input ?? null) };
  });
}

function foldedCall(part: LanguageModelV4ToolCall, call: ModelToolCall | undefined): FoldedPart {
  const { input, ...rest } = part;
  if (call === undefined || input.length < FOLDED_MIN_CHARS) return part;
  if (call.input === input) return { ...rest, pieces: null };
  const pieces = piecesOf(input, longTexts(call.input));
  return pieces.length > 1 ? { ...rest, pieces } : part;
}

function piecesOf(input: string, texts: readonly string[]): readonly (string | number)[] {
  const pieces: (string | number)[] = [input];
  for (const [number, text] of texts.entries()) {
    const written = JSON.stringify(text);
    const at = pieces.findIndex((piece) => typeof piece === 'string' && piece.includes(written));
    if (at < 0) continue;
    const [before, ...after] = (pieces[at] as string).split(written);
    pieces.splice(at, 1, before!, number, after.join(written));
  }
  return pieces;
}

function joined(pieces: Pieces, input: Json): string {
  if (pieces === null) return String(input);
  const texts = longTexts(input);
  return pieces.map((piece) => (typeof piece === 'number' ? JSON.stringify(texts[piece]) : piece)).join('');
}

/** In the order of members' names, which is the same before and after the log. */
function longTexts(value: Json): readonly string[] {
  if (typeof value === 'string') return value.length >= FOLDED_MIN_CHARS ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(longTexts);
  const members = value as { readonly [name: string]: Json };
  return Object.keys(members)
    .sort()
    .flatMap((name) => longTexts(members[name]!));
}
