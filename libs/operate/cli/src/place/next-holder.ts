/** Owns the message about who continues a workflow that people have just changed. */

import type { Place } from './place.ts';

export const nextHolder = ({ isIdle, shown }: Pick<Place, 'isIdle' | 'shown'>): string =>
  isIdle ? `the next tidemark dev or run on ${shown}` : 'its worker, or the next free one,';

/** The process that carries out the decision. */
export const continuesWith = ({ isIdle, shown }: Pick<Place, 'isIdle' | 'shown'>): string =>
  isIdle ? `It resumes with the next tidemark dev or run on ${shown}.` : 'The next free worker resumes it.';
