/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Keys that one request to the store reads or writes; requests that arrive meanwhile go into the next one. */
export const DATA_KEYS_AT_ONCE = 500;
