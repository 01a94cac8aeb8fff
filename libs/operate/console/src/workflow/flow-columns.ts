/** Owns the column of each step of a flow: the length of the shortest way from the start. Pure. */

/** Steps that no start leads to stand in the last column. */
export function columnsOf(
  starts: readonly string[],
  steps: Readonly<Record<string, readonly string[]>>,
): readonly (readonly string[])[] {
  const known = new Set(Object.keys(steps));
  const seen = new Set<string>();
  const columns: string[][] = [];
  for (let front = starts.filter((name) => known.has(name)); front.length > 0; ) {
    for (const name of front) seen.add(name);
    columns.push([...new Set(front)]);
    front = [...new Set(front.flatMap((name) => steps[name] ?? []))].filter(
      (name) => known.has(name) && !seen.has(name),
    );
  }
  const rest = [...known].filter((name) => !seen.has(name));
  return rest.length === 0 ? columns : [...columns, rest];
}
