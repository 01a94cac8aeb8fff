/**
 * Owns the cost of tokens: prices as providers list them, and the arithmetic, in whole numbers alone. Must know no provider. Invariant: a
 * cost is never understated: it is rounded up, and a missing price counts as that of plain input.
 */

import { InvalidError } from '@tidemark/core';
import type { Usage } from '@tidemark/runtime';
import { z } from 'zod';

/** Decimals of a price in dollars per million tokens. */
const PRICE_DECIMALS_MAX_COUNT = 6;
/** Most dollars per million tokens: a higher price is taken for a mistake. */
const PRICE_MAX_USD = 100_000;

/** Tokens of one call, with the provider's counts of its prompt cache beyond the runtime's own account. */
export interface PricedUsage extends Usage {
  /** Input tokens that were written to the provider's prompt cache. */
  readonly cacheWriteTokens?: number | undefined;
}

const dollars = z
  .number('must be dollars per million tokens, a number')
  .nonnegative('must not be negative')
  .max(PRICE_MAX_USD, `must be at most ${PRICE_MAX_USD} dollars per million tokens`)
  .refine(
    (value) => decimalsOf(value) <= PRICE_DECIMALS_MAX_COUNT,
    `must have at most ${PRICE_DECIMALS_MAX_COUNT} decimals`,
  );

const rates = {
  input: dollars,
  /** Of input tokens that the provider had in its prompt cache; missing: as `input`. */
  cachedInput: dollars.optional(),
  /** Of input tokens that were written to that cache; missing: as `input`. */
  cacheWrite: dollars.optional(),
  output: dollars,
};

const tokens = z.int().positive();

/** US dollars per million tokens. `long`: of all tokens of a call whose input is longer than that. */
export const priceSchema = z.strictObject({
  ...rates,
  /** The most tokens of prompt and answer together, and of an answer alone, where the provider publishes them. */
  contextTokens: tokens.optional(),
  maxOutputTokens: tokens.optional(),
  long: z.strictObject({ aboveInputTokens: z.int().positive(), ...rates }).optional(),
});
export type Price = z.infer<typeof priceSchema>;

/** Millionths of a US dollar, a whole number, rounded up. */
export function costMicros(price: Price, usage: PricedUsage): number {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens = 0 } = usage;
  const { input, cachedInput = input, cacheWrite = input, output } = rateFor(price, inputTokens);
  const cached = count(cachedInputTokens, 'cachedInputTokens');
  const written = count(cacheWriteTokens, 'cacheWriteTokens');
  // Where a provider counts its cache beside the input, the input has nothing of it.
  const plain = count(inputTokens, 'inputTokens') - cached - written;
  const total =
    (plain > 0n ? plain : 0n) * picos(input) +
    cached * picos(cachedInput) +
    written * picos(cacheWrite) +
    count(outputTokens, 'outputTokens') * picos(output);
  return Number((total + 999_999n) / 1_000_000n);
}

const rateFor = (price: Price, inputTokens: number): Omit<Price, 'long'> =>
  price.long !== undefined && inputTokens > price.long.aboveInputTokens ? price.long : price;

function count(tokens: number, field: string): bigint {
  if (Number.isSafeInteger(tokens) && tokens >= 0) return BigInt(tokens);
  throw new InvalidError(
    'usage-invalid',
    `${field} is ${tokens}: a count of tokens must be a whole number, 0 or more.`,
    {
      field,
      tokens,
    },
  );
}

/** Dollars per million tokens as millionths of a millionth of a dollar per token: exact, from the decimal's own digits. */
function picos(value: number): bigint {
  const [whole = '0', decimals = ''] = decimalText(value).split('.');
  return BigInt(whole + decimals.padEnd(PRICE_DECIMALS_MAX_COUNT, '0'));
}

const decimalsOf = (value: number): number => decimalText(value).split('.')[1]?.length ?? 0;

/** As people write it: the shortest digits that give back the same number. */
function decimalText(value: number): string {
  const text = String(value);
  const [digits = '', exponent] = text.split('e-');
  if (exponent === undefined) return text;
  return `0.${'0'.repeat(Number(exponent) - 1)}${digits.replace('.', '')}`;
}
