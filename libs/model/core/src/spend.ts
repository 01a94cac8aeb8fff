/** Owns the account of what model calls cost: what is known, how it is known, and what nobody knows. Its sums leave out parts that are 0. */

/** What is charged to a budget. */
export interface Spend {
  readonly tokens: number;
  /** Millionths of a US dollar. */
  readonly costMicros: number;
  /** Of `tokens`: counted here, because the provider reported none. */
  readonly estimatedTokens?: number | undefined;
  /** Of `tokens`: of models without a price, so that `costMicros` has nothing for them. */
  readonly unpricedTokens?: number | undefined;
  /** Besides: calls that ended without an answer, which may have been paid for, and the most that they may have cost. */
  readonly unknownCalls?: number | undefined;
  readonly unknownTokens?: number | undefined;
  readonly unknownCostMicros?: number | undefined;
}

export const NO_SPEND: Spend = { tokens: 0, costMicros: 0 };

/** The members of a spend that most have not. */
export const SPEND_PARTS = [
  'estimatedTokens',
  'unpricedTokens',
  'unknownCalls',
  'unknownTokens',
  'unknownCostMicros',
] as const;
export type SpendParts = Pick<Spend, (typeof SPEND_PARTS)[number]>;

/** Those parts of a spend that it has. */
export const partsOfSpend = (spend: SpendParts): SpendParts =>
  Object.fromEntries(SPEND_PARTS.filter((part) => (spend[part] ?? 0) > 0).map((part) => [part, spend[part]]));

export function plusSpend(a: Spend, b: Spend | undefined): Spend {
  if (b === undefined) return { tokens: a.tokens, costMicros: a.costMicros, ...partsOfSpend(a) };
  const parts = Object.fromEntries(SPEND_PARTS.map((part) => [part, (a[part] ?? 0) + (b[part] ?? 0)]));
  return { tokens: a.tokens + b.tokens, costMicros: a.costMicros + b.costMicros, ...partsOfSpend(parts) };
}

/** What a call with this reservation has cost that ended without an answer. */
export const unknownSpend = ({ tokens, costMicros }: Spend): Spend =>
  tokens === 0 && costMicros === 0
    ? NO_SPEND
    : { ...NO_SPEND, ...partsOfSpend({ unknownCalls: 1, unknownTokens: tokens, unknownCostMicros: costMicros }) };

/** The most that was spent: what is known, and what is not. A budget holds this. */
export const mostSpent = (spend: Spend): Spend => ({
  tokens: spend.tokens + (spend.unknownTokens ?? 0),
  costMicros: spend.costMicros + (spend.unknownCostMicros ?? 0),
});

/** What people and programs are shown. */
export interface SpendJson {
  readonly tokens: number;
  /** Null: nothing of it has a price. */
  readonly cost_micros: number | null;
  readonly estimated_tokens?: number | undefined;
  readonly unpriced_tokens?: number | undefined;
  readonly unknown?: { readonly calls: number; readonly tokens: number; readonly cost_micros: number } | undefined;
}

export function spendJson(spend: Spend): SpendJson {
  const { tokens, costMicros, estimatedTokens, unpricedTokens, unknownCalls } = spend;
  const isUnpriced = costMicros === 0 && tokens > 0 && (unpricedTokens ?? 0) >= tokens;
  const { unknownTokens = 0, unknownCostMicros = 0 } = spend;
  return {
    tokens,
    cost_micros: isUnpriced ? null : costMicros,
    ...(estimatedTokens !== undefined && { estimated_tokens: estimatedTokens }),
    ...(unpricedTokens !== undefined && { unpriced_tokens: unpricedTokens }),
    ...(unknownCalls !== undefined && {
      unknown: { calls: unknownCalls, tokens: unknownTokens, cost_micros: unknownCostMicros },
    }),
  };
}

/** The sum of what the API said. */
export function sumOfSpent(all: readonly SpendJson[]): SpendJson {
  const spends = all.map(({ tokens, cost_micros, estimated_tokens, unpriced_tokens, unknown }) => ({
    ...{ tokens, costMicros: cost_micros ?? 0, estimatedTokens: estimated_tokens, unpricedTokens: unpriced_tokens },
    ...{ unknownCalls: unknown?.calls, unknownTokens: unknown?.tokens, unknownCostMicros: unknown?.cost_micros },
  }));
  return spendJson(spends.reduce<Spend>(plusSpend, NO_SPEND));
}
