/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/**
 * What is owed to parents and children: served in one look, and at once; when it is served again where rows still owe it, in milliseconds:
 * the first time, and at most, since it doubles for what fails; and pages that a look goes through at most for something that is due.
 */
export const CHILD_DUTIES_COUNT = 2_000;
export const CHILD_DUTIES_AT_ONCE = 32;
export const CHILD_DUTY_RETRY_MS = 2_000;
export const CHILD_DUTY_RETRY_MAX_MS = 60_000;
export const CHILD_DUTY_PAGES_MAX = 10;
/** Workflows that are to go on with a fresh history: read as one page, pages of one look at most, and served at once. */
export const CONTINUATIONS_PAGE_COUNT = 500;
export const CONTINUATION_PAGES_MAX = 20;
export const CONTINUATIONS_AT_ONCE = 16;
/** When one that can't go on is tried again, in milliseconds: ever more seldom. */
export const CONTINUATION_RETRY_MS = 1_000;
export const CONTINUATION_RETRY_MAX_MS = 60_000;
/** Slow look for workflows that are to be undone, which catches what applied rows didn't tell; and how many it sees at once. */
export const COMPENSATION_PERIOD_MS = 5_000;
export const COMPENSATING_MAX_COUNT = 10_000;
/** An undo that was seen to be under way is looked at again after this many milliseconds, unless its end was told. */
export const UNDO_POLL_PERIOD_MS = 10_000;
/** Tasks that one look back adds to an undo, and what it lists of the things that stay done. */
export const UNDO_PAGE_COUNT = 200;
export const UNDO_LEFT_MAX_COUNT = 1_000;
/** Longest time that undoing a step may take, in milliseconds; effects have their own. */
export const STEP_UNDO_TIMEOUT_MS = 60_000;
