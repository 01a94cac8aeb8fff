/** Owns the limits of the file view: name, unit, default. */

/** Milliseconds for which an unreadable file must stay the same before it counts as corrupt: someone may be writing it. */
export const SETTLE_MS = 1_000;
