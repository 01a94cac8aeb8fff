/** Owns the Lamport clock (Lamport 1978): what a process writes is greater than all it has seen. Pure; callers keep the value. */

import type { Lamport } from './ids.ts';

export const LAMPORT_ZERO = 0 as Lamport;

/** The time to stamp on the next event, given all that was seen. */
export const tick = (seen: Lamport): Lamport => (seen + 1) as Lamport;

/** What has been seen once `other` was read. */
export const witness = (seen: Lamport, other: Lamport): Lamport => (other > seen ? other : seen);
