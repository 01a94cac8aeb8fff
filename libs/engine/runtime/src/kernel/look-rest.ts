/** Owns how long a look at all rows of a kind rests, so that a fleet of any size costs those who look no more than a part of their time. Pure. */

import { LOOK_AGE_MAX_MS, LOOK_REST } from './limits.ts';

/**
 * The pause after a look that took so long, in milliseconds: its period, or longer after a long one, unless what it found would then be too old
 * before the next has ended.
 */
export const lookRestMs = (tookMs: number, periodMs: number): number =>
  Math.max(periodMs, Math.min(LOOK_REST * tookMs, LOOK_AGE_MAX_MS - 2 * tookMs));
