/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** A text of at least this many characters is stored once in each workflow; later events name it by its digest. */
export const SHARED_TEXT_MIN_CHARS = 96;
/** Checkpoints in one page of `ctx.outputs` and `ctx.journal`. */
export const OUTPUTS_PAGE_COUNT = 500;
/** Bytes of one read of a workflow's history from the log and its segments. */
export const HISTORY_READ_MAX_BYTES = 4 * 1024 * 1024;
