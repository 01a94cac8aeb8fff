/**
 * Owns the table of prices: the shipped ones, a user's overrides, and finding a model in it under the names that providers and gateways
 * give it. Invariant: a price is never guessed from a similar name: the id itself counts, or the id without its date.
 */

import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { checked, invalid, type ValueSource } from './checked.ts';
import { costMicros, type Price, type PricedUsage, priceSchema } from './price.ts';
import shipped from './prices.json' with { type: 'json' };

/** Largest file of prices. */
const PRICES_FILE_MAX_BYTES = 4 * 1_024 * 1_024;

/** Finds the price of a model. */
export interface PriceTable {
  /** Undefined where the model has no price, which is reported once for each model. */
  readonly priceOf: (provider: string, modelId: string) => Price | undefined;
  /** Millionths of a US dollar, rounded up. */
  readonly costMicros: (provider: string, modelId: string, usage: PricedUsage) => number | undefined;
  /** Undefined where it isn't known. */
  readonly contextTokens: (provider: string, modelId: string) => number | undefined;
}

/** Called for a model without a price. */
export type OnWarning = (warning: string) => void;

/** Where something was read, and when, as `2026-11` or `2026-11-05`. */
const sourceFields = {
  source: z.string().optional(),
  asOf: z
    .string()
    .regex(/^\d{4}-\d{2}(-\d{2})?$/, 'must be a date as 2026-11 or 2026-11-05')
    .optional(),
};
const providerSchema = z.strictObject({
  /** Of the prices. */
  ...sourceFields,
  note: z.string().optional(),
  /** Of contextTokens and maxOutputTokens. */
  limits: z.strictObject(sourceFields).optional(),
  models: z.record(z.string().min(1), priceSchema),
});
const fileSchema = z.strictObject({
  currency: z.literal('USD'),
  unit: z.literal('per million tokens'),
  providers: z.record(z.string().min(1), providerSchema),
});
type PricesFile = z.infer<typeof fileSchema>;

const overridesSchema = z.record(z.string(), priceSchema);
/** By `provider/model`: `openai/gpt-5.5`. */
export type PriceOverrides = Readonly<Record<string, Price>>;

/** Returns the shipped prices with others over them. Throws `InvalidError` (`prices-invalid`) that names field and value. */
export function priceTable(overrides: PriceOverrides = {}, onWarning: OnWarning = warnOfProcess): PriceTable {
  const place = {
    code: 'prices-invalid',
    what: 'priceTable',
    remedy: 'Give dollars per million tokens by "provider/model": { input, cachedInput, output }.',
  };
  const prices = shippedPrices();
  for (const [name, price] of Object.entries(checked(overridesSchema, overrides, place))) {
    const slash = name.indexOf('/');
    if (slash <= 0 || slash === name.length - 1)
      throw invalid(place, [`${JSON.stringify(name)} does not name a provider and a model`]);
    prices.set(keyOf(name.slice(0, slash), name.slice(slash + 1)), price);
  }
  return tableOf(prices, onWarning);
}

let shared: PriceTable | undefined;
/** The shipped prices, one table for all callers without their own, so that a model without a price is reported once. */
export function defaultPrices(): PriceTable {
  shared ??= priceTable();
  return shared;
}

/** The shipped prices with those of a file over them; the file has the form of the library's own `prices.json`. */
export async function loadPrices(file: string, onWarning: OnWarning = warnOfProcess): Promise<PriceTable> {
  const place = {
    code: 'prices-invalid',
    what: `prices of ${file}`,
    remedy: "The library's own prices.json shows the form.",
  };
  const prices = shippedPrices();
  addTo(prices, checked(fileSchema, await readJson(file, place), place));
  return tableOf(prices, onWarning);
}

async function readJson(file: string, place: ValueSource): Promise<unknown> {
  const bytes = await readFile(file).catch((error: NodeJS.ErrnoException) => {
    throw invalid(place, [error.code === 'ENOENT' ? 'there is no such file' : `can't be read (${error.code})`]);
  });
  if (bytes.length > PRICES_FILE_MAX_BYTES) {
    throw invalid(place, [`it has ${bytes.length} bytes, at most ${PRICES_FILE_MAX_BYTES} are read`]);
  }
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch (error) {
    throw invalid(place, [`it is not JSON: ${(error as Error).message}`]);
  }
}

function shippedPrices(): Map<string, Price> {
  const prices = new Map<string, Price>();
  addTo(prices, shipped as PricesFile);
  return prices;
}

function addTo(prices: Map<string, Price>, file: PricesFile): void {
  for (const [provider, { models }] of Object.entries(file.providers)) {
    for (const [modelId, price] of Object.entries(models)) prices.set(keyOf(provider, modelId), price);
  }
}

function tableOf(prices: ReadonlyMap<string, Price>, onWarning: OnWarning): PriceTable {
  const reported = new Set<string>();
  const rowOf = (provider: string, modelId: string): Price | undefined =>
    keysOf(provider, modelId)
      .map((key) => prices.get(key))
      .find((price) => price !== undefined);
  const priceOf = (provider: string, modelId: string): Price | undefined => {
    const found = rowOf(provider, modelId);
    if (found !== undefined) return found;
    const name = keyOf(ownerOf(provider), modelId);
    if (!reported.has(name)) {
      reported.add(name);
      onWarning(
        `No price is known for ${name}: its calls count as tokens, and not as money. Give it with priceTable({ ${JSON.stringify(name)}: { input, output } }).`,
      );
    }
    return undefined;
  };
  return {
    priceOf,
    contextTokens: (provider, modelId) => rowOf(provider, modelId)?.contextTokens,
    costMicros: (provider, modelId, usage) => {
      const price = priceOf(provider, modelId);
      return price === undefined ? undefined : costMicros(price, usage);
    },
  };
}

/** The SDK names a provider with the interface: `openai.responses`. */
const ownerOf = (provider: string): string => provider.split('.')[0] ?? provider;
const keyOf = (provider: string, modelId: string): string => `${provider}/${modelId}`.toLowerCase();

/** A model's provider in its own id, `openai/gpt-5.5`: gateways write it so. */
const PREFIXED = /^([a-z0-9-]+)\/(.+)$/i;
/** `-2025-08-07`, `-20250929`, `@20250929`, `-0709`, `-001`, `-latest`. A preview has prices of its own. */
const DATED = /(?:[-@]\d{4}-\d{2}-\d{2}|[-@]\d{8}|-\d{3,4}|-latest)$/;

/** Names under which a model may be listed, best first. */
function keysOf(provider: string, modelId: string): string[] {
  const names: [string, string][] = [
    [provider, modelId],
    [ownerOf(provider), modelId],
  ];
  const prefixed = PREFIXED.exec(modelId);
  if (prefixed?.[1] !== undefined && prefixed[2] !== undefined) names.push([prefixed[1], prefixed[2]]);
  const undated = names.map(([by, id]): [string, string] => [by, id.toLowerCase().replace(DATED, '')]);
  return [...names, ...undated].map(([by, id]) => keyOf(by, id));
}

function warnOfProcess(warning: string): void {
  process.emitWarning(warning, { type: 'TidemarkWarning', code: 'TIDEMARK_PRICE_UNKNOWN' });
}
