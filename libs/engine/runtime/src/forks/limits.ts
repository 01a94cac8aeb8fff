/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Histories that are searched for people's answers before a fork of them calls effects again. */
export const FORK_HISTORIES_MAX_COUNT = 1_000;
