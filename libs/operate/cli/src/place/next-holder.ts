/** Owns what people are told of who takes up a workflow that they have just changed. */

import type { Place } from './place.ts';

export const nextHolder = ({ isIdle, shown }: Pick<Place, 'isIdle' | 'shown'>): string =>
  isIdle ? `the next tidemark dev or run on ${shown}` : 'whoever has it, or the next free worker,';

/** Who does what was decided. */
export const goesOnWith = ({ isIdle, shown }: Pick<Place, 'isIdle' | 'shown'>): string =>
  isIdle ? `It goes on with the next tidemark dev or run on ${shown}.` : 'It goes on with the next free worker.';
