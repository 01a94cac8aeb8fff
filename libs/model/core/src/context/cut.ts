/**
 * Owns cutting a text that is too long for a prompt: to a beginning that ends at a boundary, and a note of how much is missing. Pure.
 *
 * Invariants: what is left costs at most the given tokens; it is decided by text, room and tokenizer alone; the tokenizer reads what is kept
 * a few times, and never the whole of a long text.
 */

import { PIECE_MAX_CHARS, WHOLE_MAX_CHARS } from './limits.ts';
import type { Tokenizer } from './tokenizer.ts';

export interface CutText {
  readonly text: string;
  readonly tokens: number;
  /** Characters of the whole text that are in it, and how many tokens are missing, about. */
  readonly keptChars: number;
  readonly missingTokens: number;
}

/** How a text is written into the prompt, if not as it is; and what can be done about what is missing. */
export interface CutStyle {
  readonly written?: ((text: string) => string) | undefined;
  readonly remedy: string;
}

/** How much of the kept text may be given up for a boundary: of ten characters. */
const BOUNDARY_TENTHS = 5;
/** Of the characters that fit by count, those that are tried next where the whole is still too long. */
const SHORTER = 0.9;
const CHARS_PER_TOKEN = 4;

/** Tokens of the text. Above `limit` the count may be of a part of it, which is then above the limit as well. */
export function countUpTo(text: string, tokenizer: Tokenizer, limit: number): number {
  if (text.length <= WHOLE_MAX_CHARS) return tokenizer.count(text);
  let tokens = 0;
  for (let from = 0; from < text.length && tokens <= limit; ) {
    const to = whole(text, Math.min(text.length, from + PIECE_MAX_CHARS));
    tokens += tokenizer.count(copyOf(text.slice(from, to)));
    from = to;
  }
  return tokens;
}

/** A cache of counts must not keep a text of megabytes for the sake of a part: engines let a slice refer to the whole. */
const copyOf = (part: string): string => JSON.parse(JSON.stringify(part)) as string;

/** Cuts the text to at most `room` tokens; undefined where not even the note fits. */
export function cutText(
  text: string,
  room: number,
  tokenizer: Tokenizer,
  { written = (value) => value, remedy }: CutStyle,
): CutText | undefined {
  const note = (kept: number, tokens: number): string =>
    `[Cut here: ${text.length - kept} of ${text.length} characters are missing, about ${tokens} tokens. ${remedy}]`;
  const head = longestHead(text, room - tokenizer.count(written(note(0, text.length))), tokenizer);
  for (let end = head.chars; ; end = Math.floor(end * SHORTER)) {
    const keptChars = boundary(text, end);
    const missingTokens = Math.ceil((text.length - keptChars) * head.tokensPerChar);
    const kept = text.slice(0, keptChars);
    const cut = `${kept}${kept === '' || kept.endsWith('\n') ? '' : '\n'}${note(keptChars, missingTokens)}`;
    const tokens = tokenizer.count(written(cut));
    if (tokens <= room) return { text: cut, tokens, keptChars, missingTokens };
    if (end === 0) return undefined;
  }
}

/** About how many characters fit, by the counts of pieces. */
function longestHead(text: string, room: number, tokenizer: Tokenizer): { chars: number; tokensPerChar: number } {
  let chars = 0;
  let tokens = 0;
  const size = Math.max(64, Math.min(PIECE_MAX_CHARS, room));
  while (chars < text.length && tokens < room) {
    const to = whole(text, Math.min(text.length, chars + size));
    const more = tokenizer.count(copyOf(text.slice(chars, to)));
    if (tokens + more > room) {
      const tokensPerChar = (tokens + more) / to;
      return { chars: chars + Math.floor(((to - chars) * (room - tokens)) / more), tokensPerChar };
    }
    tokens += more;
    chars = to;
  }
  return { chars, tokensPerChar: chars === 0 ? 1 / CHARS_PER_TOKEN : tokens / chars };
}

/** `at`, or one less where it would divide a surrogate pair. */
const whole = (text: string, at: number): number => {
  const next = text.charCodeAt(at);
  const before = text.charCodeAt(at - 1);
  return next >= 0xdc00 && next <= 0xdfff && before >= 0xd800 && before <= 0xdbff ? at - 1 : at;
};

/** The last end of a line or of a member of JSON in the second half of `[0, end)`; else `end`, by whole code points. */
function boundary(text: string, end: number): number {
  // Searched from -1, a text that begins with a line break has one at 0.
  if (end === 0) return 0;
  const least = Math.floor((end * BOUNDARY_TENTHS) / 10);
  const line = text.lastIndexOf('\n', end - 1) + 1;
  if (line > least) return line;
  const member = /^\s*[[{]/.test(text.slice(0, 64)) ? lastMember(text, end) : 0;
  return member > least ? member : whole(text, end);
}

/** Where the last member that is whole before `end` ends, outside of strings. */
function lastMember(text: string, end: number): number {
  let isText = false;
  let last = 0;
  for (let at = 0; at < end; at++) {
    const sign = text[at];
    if (sign === '\\' && isText) at += 1;
    else if (sign === '"') isText = !isText;
    else if (sign === ',' && !isText) last = at + 1;
  }
  return last;
}
