/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Most bytes that one read of a gap or of the tail asks for. */
export const TAIL_READ_MAX_BYTES = 4_194_304;
/** Depth to which undos may nest, beyond which a person decides; and the depth from which on each undo raises an alert. */
export const COMPENSATION_DEPTH_MAX = 2;
export const COMPENSATION_ALERT_DEPTH = 2;
/** Reads in a row that return nothing of what the log acknowledged, after which the holder gives up. */
export const GAP_EMPTY_READS_MAX = 10;
