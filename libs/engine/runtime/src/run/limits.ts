/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Period at which a holder polls the log while a task waits for a timer or a signal and others run, in milliseconds. */
export const INBOX_POLL_PERIOD_MS = 250;
/**
 * A run whose steps are running polls the log for a cancellation or a pause after it has neither appended nor polled for so long, in
 * milliseconds.
 */
export const CONTROL_POLL_PERIOD_MS = 1_000;
/** Most entries that one step may add to the execution log. */
export const LOG_NOTES_MAX = 1_000;
