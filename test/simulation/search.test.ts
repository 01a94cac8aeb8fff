/** The search for seeds that fail, longer than `npm test` has time for. `npm run simulate` goes on where it ends. */

import { availableParallelism } from 'node:os';
import { expect, it } from 'vitest';
import { noTotals } from './range.ts';
import { runShared } from './share.ts';

/** Seeds of one run; those before are in simulation.test.ts. */
const FROM = 41;
const SEED_COUNT = 500;
const TIMEOUT_MS = 900_000;

it('seeds pass under every kind of fault', { timeout: TIMEOUT_MS }, async () => {
  const totals = noTotals();
  await runShared({ from: FROM, count: SEED_COUNT }, Math.min(2, availableParallelism()), totals, () => {});
  expect(totals.failures).toEqual([]);
  expect(totals.seedCount).toBe(SEED_COUNT);
});
