/**
 * Owns what becomes of text that no column can hold (NUL), nor UTF-8 (halves of surrogate pairs): U+FFFD stands in its place, since what was
 * said and paid for must not be lost over it.
 */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

/** A text for anything, also for what can't be made one (an object without a prototype). */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
