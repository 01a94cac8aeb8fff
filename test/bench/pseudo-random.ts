/** Owns text that looks random and is the same each time, for benchmarks: what is easy to compress would flatter whoever stores it. */

/** The state after this one, of a linear congruential generator modulo 2^32 (Numerical Recipes, 7.1); its upper bits are the better ones. */
export const nextState = (state: number): number => (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;

/** Text of base64's letters. */
export function pseudoRandomText(chars: number): string {
  const bytes = new Uint8Array(Math.ceil((chars * 3) / 4));
  let state = 1;
  for (let at = 0; at < bytes.length; at++) {
    state = nextState(state);
    bytes[at] = state >>> 24;
  }
  return Buffer.from(bytes).toString('base64').slice(0, chars);
}
