/** Owns every limit of the room: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Earlier workflows of a session that a bundle shows, nearest first. */
export const SESSION_RUNS_MAX = 8;
/** Most fragments, and changes of long-term memory, in one checkpoint; longest subject and key of a memory, in characters. */
export const FRAGMENTS_PER_CHECKPOINT_MAX = 1_000;
export const MEMORIES_PER_CHECKPOINT_MAX = 100;
export const MEMORY_KEY_MAX_CHARS = 256;
/** Longest wait for the rows from which the summary of a failed workflow is made, in milliseconds. */
export const FAILURE_SUMMARY_MAX_MS = 2_000;
/** Latest checkpoints that a session's summary by rule covers. */
export const SESSION_TRACE_MAX_COUNT = 200;
/** Preferences and facts of a user that are read for bundles, before they are cut to a lane's share. */
export const INJECTED_STATE_MAX_COUNT = 100;
export const INJECTED_FACTS_MAX_COUNT = 50;
/** Most workflows, pending tasks, and hand-overs or summaries in a session's brief; and events that are read to find its question. */
export const BRIEF_WORKFLOWS_MAX_COUNT = 50;
export const BRIEF_TASKS_MAX_COUNT = 200;
export const BRIEF_RECORDS_MAX_COUNT = 10;
export const BRIEF_EVENTS_READ_MAX = 1_000;
/**
 * Longest wait, in milliseconds, for other calls to settle while only their reservations leave too little of a budget; and shortest pause
 * between two checks (up to five times as long, at random).
 */
export const BUDGET_WAIT_MAX_MS = 120_000;
export const BUDGET_POLL_MS = 50;
/** Most tokens of a session that a model gets to summarize: the newest. */
export const SESSION_PROMPT_MAX_TOKENS = 8_000;
/** Workflows that are parked for lack of budget: in one page, pages that one poll reads (newest first), and how many resume at once. */
export const BUDGET_PAUSED_PAGE_COUNT = 500;
export const BUDGET_PAUSED_PAGES_MAX = 20;
export const BUDGET_RESUMES_AT_ONCE = 16;
/**
 * Delay before a resumed workflow is tried again if rows still show it parked; and first and longest delay after a failure. Milliseconds.
 */
export const BUDGET_RESUME_REST_MS = 5_000;
export const BUDGET_RESUME_RETRY_MS = 1_000;
export const BUDGET_RESUME_RETRY_MAX_MS = 60_000;
