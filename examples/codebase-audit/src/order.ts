// Owns the one order in which the audit sorts text: by Unicode code point, on every machine and locale alike.

/** Code point order of two strings. JavaScript's `<` compares UTF-16 units, which differs once surrogate pairs occur. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0;
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i);
    const y = b.charCodeAt(i);
    if (x === y) continue;
    return codePointRank(x) - codePointRank(y);
  }
  return a.length - b.length;
}

/** Lifts surrogates above U+FFFF's own units, so that unit order becomes code point order at the first difference. */
function codePointRank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit;
}

/** Compares by each of the given keys in turn; a key is text or a number. */
export function compareBy<T>(...keys: ((value: T) => string | number)[]): (a: T, b: T) => number {
  return (a, b) => {
    for (const key of keys) {
      const x = key(a);
      const y = key(b);
      const order = typeof x === 'number' && typeof y === 'number' ? x - y : compareText(String(x), String(y));
      if (order !== 0) return order;
    }
    return 0;
  };
}

/** Distinct values in code point order. */
export function sortedUnique(values: Iterable<string>): string[] {
  return [...new Set(values)].sort(compareText);
}

/** Shortens text to at most `maxChars`, ending in an ellipsis, never between the halves of a surrogate pair. */
export function shorten(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  let end = maxChars - 1;
  const last = text.charCodeAt(end - 1);
  if (last >= 0xd800 && last <= 0xdbff) end--;
  return `${text.slice(0, end)}…`;
}
