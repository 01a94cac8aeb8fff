/**
 * Owns the judgement of an append history, for tests: given what was appended in which order, what was acknowledged, and what a partition
 * finally holds, it decides whether the port kept its promises (L2–L4). Must not touch a log.
 */

export interface AppendedCall {
  /** Names of its records, unique in the history. */
  readonly names: readonly string[];
  /** Offset it was acknowledged at; undefined when it was given up. */
  readonly first: number | undefined;
}

/** Returns every violation in words; none for a good history. `stored` are the names at offsets 0, 1, 2 … */
export function historyFaults(calls: readonly AppendedCall[], stored: readonly string[]): readonly string[] {
  return [...lostRecords(calls, stored), ...partialCopies(calls, stored), ...wrongOrder(calls, stored)];
}

/** L2: an acknowledged append is at its offset. */
function lostRecords(calls: readonly AppendedCall[], stored: readonly string[]): string[] {
  return calls.flatMap(({ names, first }) =>
    first === undefined
      ? []
      : names.flatMap((name, index) => {
          const found = stored[first + index];
          return found === name ? [] : [`${name} was acknowledged at ${first + index}, where ${found} is`];
        }),
  );
}

/** L4: every copy is whole, and every record was appended by someone. */
function partialCopies(calls: readonly AppendedCall[], stored: readonly string[]): string[] {
  const callOf = new Map(calls.flatMap((call) => call.names.map((name) => [name, call] as const)));
  const faults: string[] = [];
  for (let at = 0; at < stored.length; ) {
    const call = callOf.get(stored[at]!);
    const names = call?.names ?? [];
    const isWhole = names.length > 0 && names.every((name, index) => stored[at + index] === name);
    if (!isWhole) faults.push(`at ${at} ${stored[at]} does not begin a whole copy`);
    at += isWhole ? names.length : 1;
  }
  return faults;
}

/** L3: the first copies of acknowledged appends are in the order of the calls. */
function wrongOrder(calls: readonly AppendedCall[], stored: readonly string[]): string[] {
  const firstAt = new Map<string, number>();
  stored.forEach((name, at) => {
    if (!firstAt.has(name)) firstAt.set(name, at);
  });
  const places = calls
    .filter(({ first }) => first !== undefined)
    .map(({ names }) => ({ name: names[0]!, at: firstAt.get(names[0]!) ?? -1 }));
  return places.flatMap(({ name, at }, index) => {
    const before = places[index - 1];
    return before !== undefined && before.at > at
      ? [`${name} at ${at} comes before ${before.name} at ${before.at}`]
      : [];
  });
}
