/**
 * Owns the replacement of characters that no column can hold (NUL) or that UTF-8 cannot encode (halves of surrogate pairs) by U+FFFD, so
 * that text that was paid for is not lost over one character.
 */
export const storableText = (text: string): string => text.toWellFormed().replaceAll('\0', '\ufffd');

/** A text for any value, even for one that throws when it is converted (an object without a prototype). */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return Object.prototype.toString.call(value);
  }
}
