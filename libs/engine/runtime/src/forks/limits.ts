/** Owns the limits that several files of the room share: name, unit, default. */

/** Outcomes that one reset discards. */
export const DISCARDED_MAX_COUNT = 100;
