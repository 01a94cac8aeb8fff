/** Owns the seed of a run whose seed is not the point: the same for all who test one commit, and another for the next commit. */

import { execFileSync } from 'node:child_process';

/** Where git has no say, as in an unpacked archive. */
const OTHERWISE = 20;
const SEEDS_COUNT = 1_000_000;
const HEX_DIGITS = 12;

/** `TIDEMARK_TEST_SEED`, which replays a run, or what the commit draws: in `[0, 1,000,000)`. */
export function runSeed(): number {
  const given = process.env.TIDEMARK_TEST_SEED;
  if (given !== undefined) return Number(given);
  try {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Number.parseInt(commit.toString().slice(0, HEX_DIGITS), 16) % SEEDS_COUNT;
  } catch {
    return OTHERWISE;
  }
}
