/**
 * Owns how wide text is on a terminal: wide characters take two columns, combining ones none; and cutting and padding by columns. Text from
 * outside is made printable first, so that no stored text can steer the terminal. Pure.
 */

let segmenter: Intl.Segmenter | undefined;
/** Created on first use: that takes 20 ms. */
function graphemes(text: string): Iterable<Intl.SegmentData> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}
const ZERO_WIDTH = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
const EMOJI = /^\p{Emoji_Presentation}|\p{Extended_Pictographic}\uFE0F/u;
/** East Asian Wide and Fullwidth (UAX #11), by blocks. */
const WIDE =
  /^[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1B000}-\u{1B2FF}\u{20000}-\u{3FFFD}]/u;
/** One column each, and never a part of another: Latin letters, and the signs that tables and sentences have. */
const PLAIN = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02af\u2013\u2014\u2018-\u201d\u2026\u2190-\u2193]*$/;

function graphemeWidth(grapheme: string): number {
  if (ZERO_WIDTH.test(grapheme)) return 0;
  return WIDE.test(grapheme) || EMOJI.test(grapheme) ? 2 : 1;
}

/** Columns that the text takes; it must hold no control characters. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes(text)) width += graphemeWidth(segment);
  return width;
}

/** At most this many columns; the cut part shows as one ellipsis. */
export function cut(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  if (PLAIN.test(text)) return columns < 1 ? '' : `${text.slice(0, columns - 1)}…`;
  let width = 0;
  let kept = '';
  for (const { segment } of graphemes(text)) {
    width += graphemeWidth(segment);
    if (width > columns - 1) break;
    kept += segment;
  }
  return columns < 1 ? '' : `${kept}…`;
}

const spaces = (columns: number): string => ' '.repeat(Math.max(columns, 0));
export const padEnd = (text: string, columns: number): string => text + spaces(columns - widthOf(text));
export const padStart = (text: string, columns: number): string => spaces(columns - widthOf(text)) + text;

const CONTROL = /[\p{Cc}\u202A-\u202E\u2066-\u2069\u200E\u200F]/gu;
const NAMED: Readonly<Record<string, string>> = { '\n': '⏎', '\r': '', '\t': ' ' };

/** One line without control characters and without marks that turn the reading direction. */
export const printable = (text: string): string =>
  text.replace(
    CONTROL,
    (character) => NAMED[character] ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  );

/** The same for text of several lines, which stay. */
export const printableLines = (text: string): readonly string[] =>
  text.split(/\r?\n/).map((line) => printable(line.replaceAll('\t', '  ')));
