/** Owns how long a look at all rows of a kind rests, so that a fleet of any size costs those who look no more than a part of their time. Pure. */

import { POLL_AGE_MAX_MS, POLL_REST } from './limits.ts';

/**
 * The pause after a look that took so long, in milliseconds: its period, or longer after a long one, unless what it found would then be too old
 * before the next has ended.
 */
export const pollRestMs = (tookMs: number, periodMs: number): number =>
  Math.max(periodMs, Math.min(POLL_REST * tookMs, POLL_AGE_MAX_MS - 2 * tookMs));
