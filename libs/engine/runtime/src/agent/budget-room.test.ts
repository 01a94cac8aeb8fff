/**
 * The rest of a budget goes to as many workflows as it suffices for. libs/testkit/src/model-limits.test.ts has the log, rows and
 * coordinators.
 */

import { BUDGET_EXCEEDED, type EffectKey, type Spend, type TaskId, type TenantId } from '@tidemark/core';
import type { MemoryRow, Spends } from '@tidemark/ports';
import { holderEvent } from '@tidemark/testkit/naive/events';
import { at, claimed, fold, opened } from '@tidemark/testkit/naive/folding';
import { describe, expect, it } from 'vitest';
import type { Budget, ContextDefinition } from '../definition/definition.ts';
import { checkOwnBudgets, SharedRoom, sharedWantIn } from './model-budgets.ts';

const acme = 'acme' as TenantId;
const tokens = (count: number) => ({ tokens: count, costMicros: 0 });

/** Budgets by subject, and the spend of each tenant or user. */
function roomOf(budgets: Readonly<Record<string, object>>, spent: number | Spend, reserved = 0): SharedRoom {
  const settled = typeof spent === 'number' ? tokens(spent) : spent;
  const store = {
    memories: async ({ subject = '' }) => {
      const budget = budgets[subject];
      return budget === undefined ? [] : [{ value: JSON.stringify(budget) } as MemoryRow];
    },
    spent: async (): Promise<Spends> => ({ settled, reserved: tokens(reserved) }),
  };
  return new SharedRoom({ store, clock: { nowMs: () => 0 } });
}

describe('room in shared budgets', () => {
  it('is what neither was spent nor reserved nor taken', async () => {
    const room = roomOf({ 'tenant:acme': { tokens: 100, period: 'day' } }, 30, 20);
    expect(await room.take({ tenant: acme }, tokens(51))).toBe(false);
    expect(await room.take({ tenant: acme, user: 'ana' }, tokens(30))).toBe(true);
    expect(await room.take({ tenant: acme, user: 'bob' }, tokens(21))).toBe(false);
    expect(await room.take({ tenant: acme, user: 'bob' }, tokens(20))).toBe(true);
    expect(await room.take({ tenant: 'globex' as TenantId }, tokens(1_000))).toBe(true);
  });

  it('must be in every budget, and is taken of none where one is short', async () => {
    const room = roomOf(
      { 'tenant:acme': { tokens: 100, period: 'day' }, 'user:ana': { tokens: 40, period: 'total' } },
      30,
    );
    expect(await room.take({ tenant: acme, user: 'ana' }, tokens(11))).toBe(false);
    expect(await room.take({ tenant: acme, user: 'bob' }, tokens(70))).toBe(true);
    expect(await room.take({ tenant: acme, user: 'ana' }, tokens(1))).toBe(false);
  });

  it('is none of what calls without an answer may have cost', async () => {
    const settled = { ...tokens(30), unknownCalls: 2, unknownTokens: 50 };
    const room = roomOf({ 'tenant:acme': { tokens: 100, period: 'day' } }, settled);
    expect(await room.take({ tenant: acme }, tokens(21))).toBe(false);
    expect(await room.take({ tenant: acme }, tokens(20))).toBe(true);
  });

  it('is none where more was spent than a budget that was lowered allows', async () => {
    const room = roomOf({ 'tenant:acme': { costMicros: 0, tokens: 10, period: 'day' } }, 20);
    expect(await room.take({ tenant: acme }, { tokens: 0, costMicros: 0 })).toBe(false);
  });
});

describe('a budget of a workflow', () => {
  const key = 'w:0.0:model:1' as EffectKey;
  const task = '0.0' as TaskId;
  const model = { bundle: null, reserved: tokens(60) };
  const { stream } = fold(
    opened(),
    claimed(),
    holderEvent('EffectIntended', at(1, 2), { key: 'w:0.0:model:0', model }),
  );
  const check = (workflow: Budget, isUnpriced = false): void => {
    const given = { budgets: { call: {}, step: {}, workflow } } as ContextDefinition;
    checkOwnBudgets(stream, given, { key, task, reserved: tokens(50), isUnpriced });
  };

  it('is not what calls under way have reserved, which come before the next one', () => {
    expect(() => check({ tokens: 109 })).toThrow(expect.objectContaining({ code: 'budget-contended' }));
    expect(() => check({ tokens: 110 })).not.toThrow();
    expect(() => check({ tokens: 49 })).toThrow(expect.objectContaining({ code: BUDGET_EXCEEDED }));
  });

  it('in money needs a model that has a price', () => {
    expect(() => check({ costMicros: 1_000 }, true)).toThrow(expect.objectContaining({ code: 'model-unpriced' }));
    expect(() => check({ tokens: 110 }, true)).not.toThrow();
  });
});

describe('the evidence of a pause', () => {
  it('says what its call needs of a shared budget, and nothing of its own', () => {
    expect(sharedWantIn({ budget: 'tenant acme (day)', unit: 'tokens', reserved: 7 })).toEqual(tokens(7));
    expect(sharedWantIn({ budget: 'user ana (hour)', unit: 'costMicros', reserved: 7 })).toEqual({
      tokens: 0,
      costMicros: 7,
    });
    for (const budget of ['call', 'step (task 1.0)', 'workflow tenant acme (day)', undefined]) {
      expect(sharedWantIn({ budget, unit: 'tokens', reserved: 7 } as never)).toBeUndefined();
    }
    expect(sharedWantIn(undefined)).toBeUndefined();
  });
});
