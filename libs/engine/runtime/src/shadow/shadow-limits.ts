/** Owns every limit of shadow mode: name, unit, default. Where an option overrides one, the code that reads the option says so. */

/** Shares of observed workflows, in percent, in the order of a roll-out; 0: none. */
export const SHADOW_SHARES = [0, 1, 10, 50, 100] as const;
/** Observation before each promotion, in milliseconds: 24 hours. */
export const SHADOW_OBSERVE_MS = 86_400_000;
/** Workflows that must have agreed from beginning to end, at the current share, before a promotion. */
export const SHADOW_WORKFLOWS_MIN = 10;

/** Most reports of one run that wait to be written; later ones are lost and counted. */
export const SHADOW_BUFFER_MAX_COUNT = 1_000;
/** Most bytes of waiting reports in one process. */
export const SHADOW_BUFFER_MAX_BYTES = 33_554_432;
/** Reports in one append to the log. */
export const SHADOW_BATCH_MAX_COUNT = 100;
/** Keys of reports that a run remembers, so that it writes each step once. */
export const SHADOW_KEYS_MAX = 256;
/** Longest key of a report, in characters. */
export const SHADOW_KEY_MAX_CHARS = 200;
/** Failures in a row, not counting unavailable servers, after which a report is dropped. */
export const SHADOW_FAILURES_MAX = 10;
/** How long a process uses the share that it read, in milliseconds. */
export const SHADOW_SHARE_TTL_MS = 5_000;
/** Default time-out of `flushed`, in milliseconds. */
export const SHADOW_FLUSH_TIMEOUT_MS = 5_000;

/** Newest workflows of a definition that a comparison covers. */
export const SHADOW_RUNS_MAX = 10_000;
/** Differences that a comparison lists; further ones are only counted. */
export const SHADOW_DIFFERENCES_MAX = 1_000;
/** Openings that a comparison reads at once. */
export const SHADOW_LOOKUPS_MAX = 64;
/** Bytes of one read of the log by a comparison. */
export const SHADOW_READ_MAX_BYTES = 8_388_608;
/** How long a comparison waits for rows to have everything in the log, in milliseconds. */
export const SHADOW_ROWS_WAIT_MS = 30_000;
/** Members of a belief that get digests of their own, so that a difference can name them. */
export const SHADOW_MEMBERS_MAX = 64;
/** Hex digits of a member's digest. */
export const SHADOW_MEMBER_DIGITS = 16;
