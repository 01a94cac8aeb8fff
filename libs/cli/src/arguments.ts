/** Owns how an argument's text becomes a value, and what is said of one that can't be read. */

import { DURATION_MAX_COUNT, parseDuration } from '@tidemark/core';
import { InvalidArgumentError } from 'commander';

/** Parses a whole number from `min` to `max`, both included. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= min && value <= max && /^\d+$/.test(text)) return value;
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
  };

/** Longest name of a tenant, in characters. */
const TENANT_MAX_CHARS = 512;

/** A tenant's name. */
export function tenantName(text: string): string {
  if (/\S/.test(text) && text.length <= TENANT_MAX_CHARS && !/\p{Cc}/u.test(text)) return text;
  throw new InvalidArgumentError(
    `Give 1 to ${TENANT_MAX_CHARS} characters, one of them visible, without control characters; without the option it is default.`,
  );
}

/** In milliseconds. Never zero: what is archived or deleted after no time was hardly meant to be. */
export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new InvalidArgumentError(`Give a whole number from 1 to ${DURATION_MAX_COUNT} with a unit: 90s, 30m, 24h, 7d.`);
}
