/** Owns how an argument's text becomes a value, and what is said of one that can't be read. */

import { InvalidArgumentError } from 'commander';

/** Parses a whole number from `min` to `max`, both included. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (Number.isSafeInteger(value) && value >= min && value <= max && /^\d+$/.test(text)) return value;
    throw new InvalidArgumentError(`Give a whole number from ${min} to ${max}.`);
  };
