/** Owns the load of an upgrade: the workflows of chaos runs, with pauses that keep a phase short. */

import { randomStart, type Start } from '../chaos/expected.ts';
import type { Random } from '../chaos/random.ts';
import { PACE_MAX_COUNT, SHORTER } from './limits.ts';

export function shortStart(random: Random): Start {
  const start = randomStart(random);
  switch (start.definition) {
    case 'chaos-pace':
    case 'chaos-staged':
      return { ...start, input: { ...start.input, count: Math.min(start.input.count, PACE_MAX_COUNT) } };
    case 'chaos-long':
      return {
        ...start,
        input: { ...start.input, stepsMs: start.input.stepsMs.map((ms) => Math.round(ms / SHORTER)) },
      };
    case 'chaos-fan':
      return { ...start, input: { ...start.input, pauseMs: Math.round(start.input.pauseMs / SHORTER) } };
    case 'chaos-script':
      // The release before knows no functions.
      return shortStart(random);
    default:
      return start;
  }
}
