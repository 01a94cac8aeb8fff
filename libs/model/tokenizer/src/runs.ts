/**
 * Owns dividing a text so that no piece has a long run without a break. Texts without such a run stay whole, so their counts are exactly
 * the tokenizer's. Must not count.
 */

/**
 * Characters of a run without a break (only letters, only signs or only spaces) that are counted in one piece. Merging a piece takes time
 * quadratic in its length, so longer runs are divided; no word of a language is as long.
 */
export const RUN_MAX_CHARS = 256;

/** A cheap test: tokenizers break between spaces and everything else. */
const mayHaveLongRun = new RegExp(`\\S{${RUN_MAX_CHARS + 1}}|\\s{${RUN_MAX_CHARS + 1}}`);
/**
 * Runs that a tokenizer merges as one piece: of letters (with their marks), of spaces, of anything else. By code points, so that no
 * surrogate pair is split.
 */
const longRun = new RegExp(
  ['[\\p{L}\\p{M}]', '\\s', '[^\\s\\p{L}\\p{N}]'].map((kind) => `${kind}{${RUN_MAX_CHARS}}`).join('|'),
  'gu',
);

/** Divides the text into pieces without runs of more than about RUN_MAX_CHARS characters. Linear in the text's length. */
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
