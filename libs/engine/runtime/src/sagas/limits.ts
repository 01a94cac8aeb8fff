/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/**
 * Period, in milliseconds, of the poll for workflows to compensate, which finds those that no written rows have announced; and how many
 * one poll reads.
 */
export const COMPENSATION_PERIOD_MS = 5_000;
export const COMPENSATING_MAX_COUNT = 10_000;
