/** Owns the limits and defaults that several files share, each with its unit. */

/** Milliseconds after which a revocation, an expiry or a suspension counts everywhere, besides the lag of rows. */
export const KEY_AGE_MAX_MS = 5_000;
/** Keys and tenants that a process remembers, the last used; and unknown ids of keys. */
export const KEYS_REMEMBERED_MAX_COUNT = 10_000;
export const UNKNOWN_REMEMBERED_MAX_COUNT = 1_000;
/** Period at which times of last use are stored, in milliseconds; and keys in one event. */
export const KEY_USED_PERIOD_MS = 600_000;
export const KEY_USED_AT_ONCE = 100;
/** Longest name of a key or a tenant, in characters. */
export const ACCESS_NAME_MAX_CHARS = 128;

/** Longest subject of a token, and longest name of an assignee in it, in characters. */
export const SUBJECT_MAX_CHARS = 256;

/**
 * Milliseconds of waiting after which further requests of the entry's tenant are refused. As many waiting entries as are still free of the
 * second number (`Room`) do the same.
 */
export const AUDIT_BEHIND_MAX_MS = 10_000;
export const AUDIT_WAITING_MAX_COUNT = 10_000;
/** Writes, and milliseconds, after which a stream of entries ends and another begins, so that old ones are archived. */
export const AUDIT_STREAM_MAX_WRITES = 10_000;
export const AUDIT_STREAM_MAX_MS = 86_400_000;
/** Milliseconds without a write after which a stream ends as well; pause between two polls. */
export const AUDIT_STREAM_IDLE_MS = 3_600_000;
export const AUDIT_POLL_MS = 600_000;
/** Pause before a failed write is retried, in milliseconds. */
export const AUDIT_RETRY_MS = 500;
/** Streams that a reader lists at once, and writes of one that it reads at once. */
export const AUDIT_STREAMS_PAGE_COUNT = 500;
export const AUDIT_PAGE_COUNT = 100;
