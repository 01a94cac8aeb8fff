/** The search for seeds that fail, longer than `npm test` has time for. `npm run simulate` goes on where it ends. */

import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import { runSeed } from '../run-seed.ts';
import { noTotals } from './range.ts';
import { runShared } from './share.ts';

const SEED_COUNT = 500;
/** Each commit searches where no other did: those before are in simulation.test.ts. */
const from = 41 + runSeed() * SEED_COUNT;
const TIMEOUT_MS = 900_000;

it(`${SEED_COUNT} seeds from ${from} pass under every kind of fault (TIDEMARK_TEST_SEED=${runSeed()})`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const totals = noTotals();
  await runShared({ from, count: SEED_COUNT }, Math.min(2, availableParallelism()), totals, () => {});
  expect(totals.failures).toEqual([]);
  expect(totals.seedCount).toBe(SEED_COUNT);
});
