/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** Histories that are looked through for answers of people before a fork of them calls effects again. */
export const FORK_HISTORIES_MAX_COUNT = 1_000;
