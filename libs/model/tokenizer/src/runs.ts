/**
 * Owns cutting a text so that no piece has a long run without a break. Texts without such a run stay whole, so their counts
 * are exactly the tokenizer's. Must not count.
 */

import { RUN_MAX_CHARS } from './limits.ts';

/** Cheap test: tokenizers break between spaces and everything else. */
const mayHaveLongRun = new RegExp(`\\S{${RUN_MAX_CHARS + 1}}|\\s{${RUN_MAX_CHARS + 1}}`);
/**
 * Runs that a tokenizer takes in one piece: of letters (with their marks), of spaces, of anything else. By code points, so that
 * no pair of surrogates is torn.
 */
const longRun = new RegExp(
  ['[\\p{L}\\p{M}]', '\\s', '[^\\s\\p{L}\\p{N}]'].map((kind) => `${kind}{${RUN_MAX_CHARS}}`).join('|'),
  'gu',
);

/** The text in pieces, of which none has a run of more than about RUN_MAX_CHARS characters. Takes time with the text's length. */
export function piecesOf(text: string): readonly string[] {
  if (text.length <= RUN_MAX_CHARS || !mayHaveLongRun.test(text)) return [text];
  const pieces: string[] = [];
  let from = 0;
  for (const { index, 0: run } of text.matchAll(longRun)) {
    const to = index + run.length;
    pieces.push(text.slice(from, to));
    from = to;
  }
  if (from < text.length) pieces.push(text.slice(from));
  return pieces;
}
