/** Owns the message about who continues a workflow that people have just changed. */

import type { Place } from './place.ts';

export const nextHolder = ({ isIdle, shown }: Pick<Place, 'isIdle' | 'shown'>): string =>
  isIdle ? `the next tidemark dev or run on ${shown}` : 'its worker, or the next free one,';

/** What happens to the workflow next (`what`: 'resumes', 'is ended' …; `who`: 'It', or a part of it), and by which process. */
export const continuesWith = (
  { isIdle, shown }: Pick<Place, 'isIdle' | 'shown'>,
  what = 'resumes',
  who = 'It',
): string => `${who} ${what} with the next ${isIdle ? `tidemark dev or run on ${shown}` : 'free worker'}.`;
