/** Owns how an argument's text becomes a value, and what is said of one that can't be read. */

import { parseDuration } from '@tidemark/host';
import { InvalidArgumentError } from 'commander';

/** Parses a whole number from `min` to `max`, both included. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= min && value <= max && /^\d+$/.test(text)) return value;
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
  };

/** In milliseconds. Never zero: what is archived or deleted after no time was hardly meant to be. */
export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new InvalidArgumentError('Give a whole number above zero with a unit: 90s, 30m, 24h, 7d.');
}
