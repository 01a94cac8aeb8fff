/** Owns the part of the contract about what was spent: sums since any time, however often a call's row was written. */

import { NO_SPEND, plusSpend, type TenantId } from '@tidemark/core';
import type { SpendRow, Spends } from '@tidemark/ports';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as rows from './projection-store-rows.ts';
import type { StoreUnderTest } from './store-under-test.ts';

const HOUR_MS = 3_600_000;
const RUNS = 12;
const tenants = ['acme', 'umbrella'] as TenantId[];
const users = [null, 'ana', "o'hara", ''];

const writes = fc.array(
  fc.array(
    fc.record({
      call: fc.nat(5),
      tenant: fc.constantFrom(...tenants),
      user: fc.constantFrom(...users),
      atMs: fc.integer({ min: 0, max: 3 * HOUR_MS }),
      tokens: fc.nat(1_000),
      costMicros: fc.nat(1_000_000),
      estimatedTokens: fc.nat(1_000),
      unpricedTokens: fc.nat(1),
      unknownCalls: fc.nat(3),
      unknownTokens: fc.nat(1_000),
      unknownCostMicros: fc.nat(1_000_000),
      isSettled: fc.boolean(),
    }),
    { maxLength: 6 },
  ),
  { minLength: 1, maxLength: 6 },
);
const questions = fc.array(
  fc.record({
    tenant: fc.constantFrom(...tenants),
    user: fc.constantFrom(...users),
    sinceMs: fc.oneof(fc.constantFrom(0, HOUR_MS, 2 * HOUR_MS), fc.integer({ min: 0, max: 4 * HOUR_MS })),
  }),
  { minLength: 1, maxLength: 8 },
);

/** The plain sum. */
function sumOf(
  all: Iterable<SpendRow>,
  asked: { readonly tenant: TenantId; readonly user: string | null; readonly sinceMs: number },
): Spends {
  const sums = { settled: NO_SPEND, reserved: NO_SPEND };
  for (const spend of all) {
    if (spend.tenant !== asked.tenant || spend.atMs < asked.sinceMs) continue;
    if (asked.user !== null && spend.user !== asked.user) continue;
    const name = spend.isSettled ? 'settled' : 'reserved';
    sums[name] = plusSpend(sums[name], spend);
  }
  return sums;
}

export function testSpends(under: StoreUnderTest): void {
  describe('what was spent', () => {
    test('is the sum of the calls since any time, whatever was written over and by whom', async () => {
      await under.partitions(2);
      const known = new Map<string, SpendRow>();
      const offsets = [0, 0];
      let run = 0;
      await fc.assert(
        fc.asyncProperty(writes, questions, async (batches, asked) => {
          run += 1;
          for (const [at, batch] of batches.entries()) {
            const spends = new Map<string, SpendRow>();
            for (const { call, ...spend } of batch) {
              const key = `${run}-${call}`;
              const workflow = rows.workflowNamed(`w${call}`);
              const before = known.get(key);
              // Whose a call is, and since when, never changes.
              const own = before ?? spend;
              const row = { ...spend, workflow, key, tenant: own.tenant, user: own.user, atMs: own.atMs };
              spends.set(key, row);
            }
            for (const [key, row] of spends) known.set(key, row);
            const partition = at % 2;
            const from = offsets[partition]!;
            offsets[partition] = from + 1;
            await (partition === 0 ? under.store : under.other).apply(
              rows.batch({
                partitions: [rows.advance(partition, from, from + 1)],
                context: { fragments: [], texts: [], scopes: [], sessions: [], spends: [...spends.values()] },
              }),
            );
          }
          for (const { tenant, user, sinceMs } of asked) {
            expect(await under.store.spent(tenant, user, sinceMs)).toEqual(
              sumOf(known.values(), { tenant, user, sinceMs }),
            );
          }
        }),
        { numRuns: RUNS },
      );
    });

    test('takes whatever the fold takes: no time and no amount stops a projection', async () => {
      await under.partitions(1);
      const spend = (key: string, atMs: number, amount: number): SpendRow => ({
        ...{ workflow: rows.workflowNamed('w'), key, tenant: tenants[0]!, user: 'ana', atMs },
        ...{ tokens: amount, costMicros: amount, isSettled: true },
      });
      const spends = [spend('a', 3.4e25, 1e308), spend('b', 3.4e25, 1e308), spend('c', 5, 7)];
      await under.store.apply(
        rows.batch({
          partitions: [rows.advance(0, 0, 1)],
          context: { fragments: [], texts: [], scopes: [], sessions: [], spends },
        }),
      );
      expect((await under.store.spent(tenants[0]!, 'ana', 0)).settled.tokens).toBeGreaterThanOrEqual(2e15);
      expect((await under.store.positions()).get(rows.partitionAt(0))).toBe(1);
    });
  });
}
