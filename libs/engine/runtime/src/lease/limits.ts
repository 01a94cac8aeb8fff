/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** Longest wait that a receiver can ask for with its refusal, in milliseconds. */
export const RETRY_AFTER_MAX_MS = 24 * 3_600_000;
/** Bytes asked for in one read of a gap or tail. */
export const TAIL_READ_MAX_BYTES = 4_194_304;
/** Undos that may lie in one another: the second is an alert, and instead of a third it needs a person. */
export const COMPENSATION_DEPTH_MAX = 2;
export const COMPENSATION_ALERT_DEPTH = 2;
/** Failures in a row with the same code after which a step counts as poison and a person is asked. */
export const SAME_FAILURES_MAX = 20;
/** Lines of the stack of a failure that a person is shown. */
export const STACK_LINES_MAX_COUNT = 12;
/** Longest text of its task's input that a person is shown with it, in characters. */
export const FAILED_INPUT_MAX_CHARS = 8_000;
/** Reads in a row that may show nothing of what the log acknowledged; then the holder gives up. */
export const GAP_EMPTY_READS_MAX = 10;
