/** Owns the limits that several files of the room share: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/**
 * Period of a worker's heartbeat; how long a heartbeat counts; how long it counts while the worker is still connected to a coordinator (its
 * event loop is blocked, or the process was stopped); and the age that the coordinators' marker must have. Milliseconds.
 */
export const BEAT_PERIOD_MS = 250;
export const BEAT_TTL_MS = 1_000;
export const BEAT_STALL_MS = 5_000;
export const MARKER_AGE_MS = 2 * BEAT_PERIOD_MS;
/** How long a workflow that may run beside few others waits for their steps to end before another worker tries, in milliseconds. */
export const ROOM_WAIT_MAX_MS = 60_000;
/** How long a worker that is asked to give up runs does so, in milliseconds: those that come between two steps meanwhile. */
export const GIVING_MAX_MS = 10_000;
/** How long a worker that has given up runs takes no others in their place, in milliseconds: until then others have taken them. */
export const GIVEN_REST_MS = 1_000;
