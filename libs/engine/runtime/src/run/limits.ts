/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** While a task waits for a timer or a signal and others run: period of the holder's look at the log, in milliseconds. */
export const INBOX_POLL_PERIOD_MS = 250;
/** A run that has appended nothing for so long looks whether its workflow was cancelled or paused, in milliseconds. */
export const CONTROL_POLL_PERIOD_MS = 1_000;
/** Entries of the execution log that one step may add. */
export const LOG_NOTES_MAX = 1_000;
