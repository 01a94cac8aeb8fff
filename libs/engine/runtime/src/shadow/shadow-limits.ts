/** Owns every limit of shadow mode: name, unit, default. Options that change one say so where they are read. */

/** Shares of workflows that are observed, in percent, in the order in which a roll-out takes them; 0: none. */
export const SHADOW_SHARES = [0, 1, 10, 50, 100] as const;
/** Observation before each promotion, in milliseconds: 24 hours. */
export const SHADOW_OBSERVE_MS = 86_400_000;
/** Workflows that must have agreed from beginning to end, at the present share, before a promotion. */
export const SHADOW_WORKFLOWS_MIN = 10;

/** Reports of one run that wait to be written, at most; later ones are lost, and counted. */
export const SHADOW_BUFFER_MAX_COUNT = 1_000;
/** Bytes of all reports of one process that wait to be written, at most. */
export const SHADOW_BUFFER_MAX_BYTES = 33_554_432;
/** Reports that go to the log in one append. */
export const SHADOW_BATCH_MAX_COUNT = 100;
/** Keys of reports that a run remembers, to write the same step once. */
export const SHADOW_KEYS_MAX = 256;
/** Longest key of a report, in characters. */
export const SHADOW_KEY_MAX_CHARS = 200;
/** Failures in a row, other than of servers that are away, after which a report is given up. */
export const SHADOW_FAILURES_MAX = 10;
/** How long a process believes the share that it read, in milliseconds. */
export const SHADOW_SHARE_TTL_MS = 5_000;
/** How long `flushed` waits where nothing else is said, in milliseconds. */
export const SHADOW_FLUSH_TIMEOUT_MS = 5_000;

/** Newest workflows of a definition that a comparison covers. */
export const SHADOW_RUNS_MAX = 10_000;
/** Differences that a comparison lists; further ones are only counted. */
export const SHADOW_DIFFERENCES_MAX = 1_000;
/** Openings that a comparison looks up at once. */
export const SHADOW_LOOKUPS_MAX = 64;
/** Bytes that a comparison asks for in one read of the log. */
export const SHADOW_READ_MAX_BYTES = 8_388_608;
/** How long a comparison waits for rows to name all that the log holds, in milliseconds. */
export const SHADOW_ROWS_WAIT_MS = 30_000;
/** Members of a belief whose digests are kept beside the whole's, so that a difference can name them. */
export const SHADOW_MEMBERS_MAX = 64;
/** Hex digits of a member's digest. */
export const SHADOW_MEMBER_DIGITS = 16;
