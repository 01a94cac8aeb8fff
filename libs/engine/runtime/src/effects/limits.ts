/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** An effect's call may start within this many milliseconds after its intention was sent to the log (monotonic clock). */
export const CALL_WINDOW_MS = 5_000;
/**
 * A call that nothing recorded waits until what was called before is asked for again. After this many periods in which no call of the step
 * began, ran or ended, it counts as that call with a changed request. (A stopped process loses one period, not all of them.)
 */
export const RECORD_CLAIM_PERIODS = 10;
/** Periods of `RECORD_CLAIM_PERIOD_MS` without a call, after which a step that asks for other things than what comes first has taken another way. */
export const ORDER_LOST_PERIODS = 2;
/** Period at which a call that waits for another one's record looks whether any call moved, in milliseconds. */
export const RECORD_CLAIM_PERIOD_MS = 500;
/** Time that running steps have to finish once their workflow is cancelled, in milliseconds. */
export const CANCEL_GRACE_MS = 10_000;
/** Period at which a draining worker, and a cancelled run, poll the steps that still run, in milliseconds. */
export const DRAIN_POLL_PERIOD_MS = 50;
/** Weight of the newest attempt in the mean duration of a step, 0..1; and the number of steps of which a mean is kept. */
export const STEP_DURATION_WEIGHT = 0.2;
export const STEP_DURATIONS_MAX = 10_000;
/**
 * Characters of a response that is too large for the log, as JSON, in the question to a person. They fit into the question's evidence,
 * however they are escaped.
 */
export const BEGINNING_MAX_CHARS = 10_000;
