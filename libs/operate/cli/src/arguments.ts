/** Owns turning an argument's text into a value, and the error of one that can't be read. */

import { InvalidArgumentError } from '@commander-js/extra-typings';
import { DURATION_MAX_COUNT, parseDuration } from '@tidemark/core';
import { NAME_MAX_CHARS } from './limits.ts';

/** Parses a whole number from `min` to `max`, both included; the largest safe one as `max` is no limit to name. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= min && value <= max && /^\d+$/.test(text)) return value;
    const range = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
    throw new InvalidArgumentError(`Give a whole number ${range}.`);
  };

/** In milliseconds. Never zero: archiving or deleting after no time was hardly meant. */
export function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms > 0) return ms;
  throw new InvalidArgumentError(`Give a whole number from 1 to ${DURATION_MAX_COUNT} with a unit: 90s, 30m, 24h, 7d.`);
}

/** A name that people give: of a definition, a session, a user, a tag; or words to search for. */
export function nameText(text: string): string {
  if (/\S/.test(text) && text.length <= NAME_MAX_CHARS && !/\p{Cc}/u.test(text) && text.isWellFormed()) return text;
  throw new InvalidArgumentError(
    `Give 1 to ${NAME_MAX_CHARS} characters, one of them visible, without control characters.`,
  );
}

/** Address of a collector; what it answers is known once something is sent there. */
export function collectorUrl(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new InvalidArgumentError('Give the address of a collector: http://HOST:4318, or https://HOST:4318.');
}

/** Collects an option that may be given several times. */
export const repeated = (value: string, before: readonly string[] | undefined): readonly string[] => [
  ...(before ?? []),
  value,
];

/** Applies several parsers, one after the other. */
export const nameTexts = (text: string, before: readonly string[] | undefined): readonly string[] =>
  repeated(nameText(text), before);

/** SHA-256 digests in hexadecimal digits. */
export function digests(text: string, before: readonly string[] | undefined): readonly string[] {
  if (/^[0-9a-f]{64}$/i.test(text)) return repeated(text.toLowerCase(), before);
  throw new InvalidArgumentError('Give the digest that the refusal names, of 64 hexadecimal digits.');
}

/** A moment, in milliseconds. */
export function moment(text: string): number {
  const ms = /^\d{4}-\d{2}-\d{2}(T[\d:.]+(Z|[+-]\d{2}:\d{2}))?$/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isFinite(ms)) return ms;
  throw new InvalidArgumentError('Give a day or a moment: 2026-11-23, or 2026-11-23T09:00:00Z.');
}
