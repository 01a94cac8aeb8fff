/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Longest retry delay that a receiver can ask for when it refuses a call, in milliseconds. */
export const RETRY_AFTER_MAX_MS = 24 * 3_600_000;
/** Most bytes that one read of a gap or of the tail asks for. */
export const TAIL_READ_MAX_BYTES = 4_194_304;
/** Depth to which undos may nest, beyond which a person decides; and the depth from which on each undo raises an alert. */
export const COMPENSATION_DEPTH_MAX = 2;
export const COMPENSATION_ALERT_DEPTH = 2;
/** Failures in a row with the same code after which a step counts as poison, and the workflow is parked. */
export const SAME_FAILURES_MAX = 20;
/** Lines of a failure's stack in the question to a person. */
export const STACK_LINES_MAX_COUNT = 12;
/** Characters of the failed task's input in the question to a person. */
export const FAILED_INPUT_MAX_CHARS = 8_000;
/** Reads in a row that return nothing of what the log acknowledged, after which the holder gives up. */
export const GAP_EMPTY_READS_MAX = 10;
