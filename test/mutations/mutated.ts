/** Owns applying edits to a source text: those of a mutation, or of a guard that is taken out. */

export type Edit = readonly [from: string, to: string];

/** The source with the edits. Throws when a text isn't there exactly once, so that a list keeps up with the source. */
export function mutated(source: string, edits: readonly Edit[], file: string): string {
  let left = source;
  for (const [from, to] of edits) {
    const count = left.split(from).length - 1;
    if (count !== 1) throw new Error(`found ${count} times in ${file}: ${from}`);
    left = left.replace(from, () => to);
  }
  return left;
}
