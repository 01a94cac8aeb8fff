/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** An effect's call may start within this many milliseconds of its intention's acceptance (monotonic clock). */
export const CALL_WINDOW_MS = 5_000;
/** Time, in milliseconds, that steps under way have to finish once their workflow is cancelled. */
export const CANCEL_GRACE_MS = 10_000;
/** Period of a stopping worker's look at the steps that still run, in milliseconds. */
export const DRAIN_POLL_PERIOD_MS = 50;
/** Weight of the newest attempt in the mean duration of a step, 0..1, and how many steps' durations are remembered. */
export const STEP_DURATION_WEIGHT = 0.2;
export const STEP_DURATIONS_MAX = 10_000;
/** Characters of a response that the log can't take, as JSON, which a person is shown: they fit into a question's evidence, however they are escaped. */
export const BEGINNING_MAX_CHARS = 10_000;
