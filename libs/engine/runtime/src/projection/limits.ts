/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Most entries and bytes that one projection batch reads from the log. */
export const PROJECTION_ENTRIES_MAX = 8_192;
export const PROJECTION_READ_MAX_BYTES = 8_388_608;
