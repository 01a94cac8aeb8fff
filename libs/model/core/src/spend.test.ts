import { describe, expect, test } from 'vitest';
import { mostSpent, NO_SPEND, plusSpend, spendJson, sumOfSpent, unknownSpend } from './spend.ts';

describe('what was spent', () => {
  const known = { tokens: 100, costMicros: 40 };
  const estimated = { ...known, estimatedTokens: 30 };
  const unpriced = { tokens: 7, costMicros: 0, unpricedTokens: 7 };
  const unknown = unknownSpend({ tokens: 50, costMicros: 9 });

  test('adds up part by part, and has no part that is 0', () => {
    expect(plusSpend(known, NO_SPEND)).toEqual(known);
    expect([estimated, unpriced, unknown, unknown].reduce(plusSpend)).toEqual({
      ...{ tokens: 107, costMicros: 40, estimatedTokens: 30, unpricedTokens: 7 },
      ...{ unknownCalls: 2, unknownTokens: 100, unknownCostMicros: 18 },
    });
    expect(unknownSpend(NO_SPEND)).toEqual(NO_SPEND);
  });

  test('is held with what it may have been', () => {
    expect(mostSpent(plusSpend(known, unknown))).toEqual({ tokens: 150, costMicros: 49 });
  });

  test('is shown without a price as that, never as 0, and the unknown apart', () => {
    expect(spendJson(NO_SPEND)).toEqual({ tokens: 0, cost_micros: 0 });
    expect(spendJson(unpriced)).toEqual({ tokens: 7, cost_micros: null, unpriced_tokens: 7 });
    const all = plusSpend(plusSpend(estimated, unpriced), unknown);
    expect(spendJson(all)).toEqual({
      ...{ tokens: 107, cost_micros: 40, estimated_tokens: 30, unpriced_tokens: 7 },
      unknown: { calls: 1, tokens: 50, cost_micros: 9 },
    });
    expect(sumOfSpent([estimated, unpriced, unknown].map(spendJson))).toEqual(spendJson(all));
  });
});
