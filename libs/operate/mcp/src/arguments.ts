/**
 * Owns the bounds of a call's arguments before any tool sees them: the same number and depth of values and the same keys as JSON may have
 * anywhere, and no number that would be rounded. Schemas would recurse into them. Pure.
 */

import { InvalidError, JSON_BOUNDS, LimitError } from '@tidemark/core';

/** Throws `LimitError` (`arguments-too-many`, `arguments-too-deep`, `argument-name-too-long`), `InvalidError` (`argument-inexact`); `details.field` is the place. */
export function checkArguments(given: unknown): void {
  const { valuesMaxCount, depthMax, keyMaxChars } = JSON_BOUNDS;
  let count = 0;
  /** The current place: one list for the whole walk, since copying a long one for each value would be slow. */
  const path: string[] = [];
  const check = (value: unknown): void => {
    if (++count > valuesMaxCount) {
      throw new LimitError('arguments-too-many', `The arguments have more than ${valuesMaxCount} values.`);
    }
    if (typeof value === 'number' && !isExact(value)) {
      const field = path.join('.');
      throw new InvalidError('argument-inexact', `${field}: this number would be rounded. Give it as a text.`, {
        field,
      });
    }
    if (typeof value !== 'object' || value === null) return;
    if (path.length >= depthMax) {
      const field = path[0] ?? null;
      throw new LimitError('arguments-too-deep', `${field}: has more than ${depthMax} levels of objects and lists.`, {
        field,
      });
    }
    for (const [key, each] of Object.entries(value)) {
      if (key.length > keyMaxChars) {
        const field = path.join('.');
        throw new LimitError('argument-name-too-long', `${field}: a key is longer than ${keyMaxChars} characters.`, {
          field,
        });
      }
      path.push(key);
      check(each);
      path.pop();
    }
  };
  check(given);
}

/** Whole numbers beyond these are rounded when they are parsed. */
const isExact = (value: number): boolean =>
  Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value));
