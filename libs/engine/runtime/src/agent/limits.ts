/** Owns every limit of the room: name, unit, default. Options that change one say so where they are read. */

/** Earlier workflows of a session that a bundle shows, the nearest. */
export const SESSION_RUNS_MAX = 8;
/** Fragments, and changes of long-term memory, that one checkpoint holds at most; characters of a memory's subject and key. */
export const FRAGMENTS_PER_CHECKPOINT_MAX = 1_000;
export const MEMORIES_PER_CHECKPOINT_MAX = 100;
export const MEMORY_KEY_MAX_CHARS = 256;
/** Longest wait for the rows that the summary of a failed workflow is made from, in milliseconds. */
export const FAILURE_SUMMARY_MAX_MS = 2_000;
/** Checkpoints that a session's summary by rule is made of: the last. */
export const SESSION_TRACE_MAX_COUNT = 200;
/** Preferences and facts of a user that are put into bundles, before they are cut to a lane's share. */
export const INJECTED_STATE_MAX_COUNT = 100;
export const INJECTED_FACTS_MAX_COUNT = 50;
/** What a brief of a session tells at most: workflows, pending tasks, hand-overs and summaries; and events that are read for its question. */
export const BRIEF_WORKFLOWS_MAX_COUNT = 50;
export const BRIEF_TASKS_MAX_COUNT = 200;
export const BRIEF_RECORDS_MAX_COUNT = 10;
export const BRIEF_EVENTS_READ_MAX = 1_000;
/**
 * Longest wait, in milliseconds, for others' calls to say what they cost, where only what they have reserved leaves too little of a
 * budget; and the shortest pause between two looks (up to five times as long, at random).
 */
export const BUDGET_WAIT_MAX_MS = 120_000;
export const BUDGET_POLL_MS = 50;
/** What a model is told of a session when it summarises it, at most, in tokens: the newest of it. */
export const SESSION_PROMPT_MAX_TOKENS = 8_000;
/**
 * Workflows that are paused for want of budget: read as one page, pages of one look at most (the newest), events of one in which its question
 * is looked for, and how many are let go on at once.
 */
export const BUDGET_PAUSED_PAGE_COUNT = 500;
export const BUDGET_PAUSED_PAGES_MAX = 20;
export const BUDGET_RESUMES_AT_ONCE = 16;
/** When one that was let go on is looked at again, should rows still have it paused; and one that could not be: ever more seldom. Milliseconds. */
export const BUDGET_RESUME_REST_MS = 5_000;
export const BUDGET_RESUME_RETRY_MS = 1_000;
export const BUDGET_RESUME_RETRY_MAX_MS = 60_000;
