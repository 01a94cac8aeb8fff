/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** Texts of at least this many characters are stored once a workflow, and named by their digests from then on. */
export const SHARED_TEXT_MIN_CHARS = 96;
/** Checkpoints in one page of `ctx.outputs`. */
export const OUTPUTS_PAGE_COUNT = 500;
/** Bytes of one read of a workflow's history from log and segments. */
export const HISTORY_READ_MAX_BYTES = 4 * 1024 * 1024;
