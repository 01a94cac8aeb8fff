/** Owns the columns of a spend, in which sums are made, and the text in which it lies where nothing is summed. */

import { partsOfSpend, SPEND_PARTS, type Spend, type SpendParts } from '@tidemark/core';
import { nullableText, numberAt, type Row } from '../sql-client.ts';

const FIELDS = ['tokens', 'costMicros', ...SPEND_PARTS] as const;

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** `tokens`, `cost_micros`, and its parts. */
export const SPEND_COLUMNS: readonly string[] = FIELDS.map(snakeCase);

/** The values of a row's columns, in their order. */
export const spendValues = (spend: Spend): readonly number[] => FIELDS.map((field) => spend[field] ?? 0);

/** From the columns that begin there. */
export function spendAt(row: Row, start: number): Spend {
  const [tokens = 0, costMicros = 0, ...parts] = FIELDS.map((_, at) => numberAt(row, start + at));
  const named = Object.fromEntries(SPEND_PARTS.map((part, at) => [part, parts[at]]));
  return { tokens, costMicros, ...partsOfSpend(named) };
}

export function spendPartsText(spend: SpendParts): string | null {
  const parts = partsOfSpend(spend);
  return Object.keys(parts).length === 0 ? null : JSON.stringify(parts);
}

export function spendPartsAt(row: Row, at: number): SpendParts {
  const text = nullableText(row, at);
  return text === null ? {} : (JSON.parse(text) as SpendParts);
}
