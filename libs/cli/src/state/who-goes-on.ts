/** Owns what people are told of who takes up a workflow that they have just changed. */

import { type Desk, isIdle } from './desk.ts';

/** Who does what was decided. */
export const whoGoesOn = (desk: Desk): string =>
  isIdle(desk) && desk.place.kind === 'embedded'
    ? `It goes on with the next tidemark dev or run on ${desk.place.folder}.`
    : 'It goes on with the next free worker.';
