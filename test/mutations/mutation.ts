/** Owns what a mutation is: a realistic bug, as edits of one source file, and the quick test that must fail with it. */

export interface Mutation {
  /** From the project's root. */
  readonly file: string;
  /** Each `from` stands in the file exactly once. */
  readonly edits: readonly (readonly [from: string, to: string])[];
  /** The test file that fails with it, from the project's root. */
  readonly caughtBy: string;
  /** Ends the names of the tests that are run; all of the file's by default. */
  readonly test?: string;
  /** Part of the message of the error that shows it, where that is no failed assertion: what the source itself refuses then. */
  readonly failsWith?: string;
  /** The promise that it breaks. */
  readonly breaks: string;
}

export type Mutations = Readonly<Record<string, Mutation>>;

/** The text with every edit. Throws when one isn't found exactly once, so that the list keeps up with the source. */
export function mutated(text: string, { file, edits }: Pick<Mutation, 'file' | 'edits'>): string {
  let after = text;
  for (const [from, to] of edits) {
    const count = after.split(from).length - 1;
    if (count !== 1) throw new Error(`found ${count} times in ${file}: ${from}`);
    after = after.replace(from, () => to);
  }
  return after;
}

/** All lists as one. Throws when two mutations have one name. */
export function merged(...lists: readonly Mutations[]): Mutations {
  const all = lists.flatMap((list) => Object.entries(list));
  const names = new Set<string>();
  for (const [name] of all) {
    if (names.has(name)) throw new Error(`two mutations are named '${name}'`);
    names.add(name);
  }
  return Object.fromEntries(all);
}
