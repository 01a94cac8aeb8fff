/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Largest event, in bytes, header and payload together; the log's own limit applies where it is lower. */
export const EVENT_MAX_BYTES = 1_048_576;
