/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** An effect's call may start within this many milliseconds after its intention was sent to the log (monotonic clock). */
export const CALL_WINDOW_MS = 5_000;
/** Longest wait for a call's turn in the worker, in milliseconds; for a longer one the step waits by a timer, without a worker. */
export const TURN_WAIT_MAX_MS = 3_000;
/** Period at which a call that waits for another one's record looks whether any call moved, in milliseconds. */
export const RECORD_CLAIM_PERIOD_MS = 500;
/** Period at which a draining worker, and a cancelled run, poll the steps that still run, in milliseconds. */
export const DRAIN_POLL_PERIOD_MS = 50;
