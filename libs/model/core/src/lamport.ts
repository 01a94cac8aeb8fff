/**
 * Owns the Lamport clock (Lamport 1978): every event that a process writes is greater than all that it has seen. Pure; callers keep the
 * value.
 */

import type { Lamport } from './ids.ts';

export const LAMPORT_ZERO = 0 as Lamport;

/** The time of the next event. */
export const tick = (seen: Lamport): Lamport => (seen + 1) as Lamport;

/** The time after an event of time `other` was read. */
export const witness = (seen: Lamport, other: Lamport): Lamport => (other > seen ? other : seen);
