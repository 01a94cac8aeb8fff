/**
 * The fleet in virtual time: seeds pass, a seed replays exactly, a run without faults gives what the definitions promise, and
 * seeds that once failed stay mended (I1 to I6, I10).
 */

import { simulate } from '@tidemark/testkit/simulation';
import { FAULT_KINDS } from '@tidemark/testkit/simulation/faults';
import { WORKLOADS } from '@tidemark/testkit/simulation/workloads';
import { describe, expect, it } from 'vitest';
import { noTotals, runRange } from './range.ts';
import { FOUND } from './seeds.ts';

/** Seeds of each run of the tests; search.test.ts has twenty-five times as many, others for each commit. */
const SEED_COUNT = 20;
const TIMEOUT_MS = 300_000;

describe('a simulated fleet', () => {
  it('keeps its invariants under every kind of fault', { timeout: TIMEOUT_MS }, async () => {
    const totals = noTotals();
    await runRange({ from: 1, count: SEED_COUNT }, totals, () => {});
    expect(totals.failures).toEqual([]);
    expect(totals.seedCount).toBe(SEED_COUNT);
  });

  it('gives the same transcript for the same seed', { timeout: TIMEOUT_MS }, async () => {
    const digests = new Set<string>();
    for (const seed of [7, 8, 9]) {
      const [first, second] = [await simulate({ seed }), await simulate({ seed })];
      expect(second.transcript).toEqual(first.transcript);
      expect(second.digest).toBe(first.digest);
      digests.add(first.digest);
    }
    expect(digests.size).toBe(3);
  });

  it.each([...WORKLOADS, 'script', 'retreat'] as const)(
    'runs %s without faults to the output that it promises',
    { timeout: TIMEOUT_MS },
    async (name) => {
      const result = await simulate({ seed: 1, faults: [], workloads: [name] });
      expect(result.violations).toEqual([]);
      // Its tasks fail side by side, and a person is asked about what is open then.
      if (name !== 'scatter') expect(result.parkedCount).toBe(0);
      expect(result.workflowCount).toBeGreaterThan(1);
    },
  );

  it.each([
    ['goes on with fresh histories', 'turns'],
    ['gives each of the calls that overlap its own outcome', 'overlap'],
    ['asks a person about a function that depends on what nobody recorded', 'stray'],
  ] as const)('%s under every kind of fault', { timeout: TIMEOUT_MS }, async (_, workload) => {
    for (let seed = 1; seed <= 12; seed++) {
      expect({ seed, of: (await simulate({ seed, workloads: [workload] })).violations }).toEqual({ seed, of: [] });
    }
  });

  it.each(FAULT_KINDS)('outlives %s alone', { timeout: TIMEOUT_MS }, async (kind) => {
    for (const seed of [1, 2, 3]) expect((await simulate({ seed, faults: [kind] })).violations).toEqual([]);
  });

  it.each(FOUND)('passes seed $seed, which found $what', { timeout: TIMEOUT_MS }, async ({ seed }) => {
    expect((await simulate({ seed })).violations).toEqual([]);
  });
});
