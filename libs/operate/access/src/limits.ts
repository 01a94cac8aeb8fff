/** Owns the limits and defaults that several files share, each with its unit. */

/** Milliseconds after which a revocation, an expiry or a suspension counts everywhere, besides the lag of rows. */
export const KEY_AGE_MAX_MS = 5_000;
/** Most keys and tenants that a process remembers, the last used ones; and most ids of unknown keys. */
export const KEYS_REMEMBERED_MAX_COUNT = 10_000;
export const UNKNOWN_REMEMBERED_MAX_COUNT = 1_000;
/** Period at which the times of keys' last use are stored, in milliseconds; and most keys in one event. */
export const KEY_USED_PERIOD_MS = 600_000;
export const KEY_USED_AT_ONCE = 100;
/** Longest name of a key or a tenant, in characters. */
export const ACCESS_NAME_MAX_CHARS = 128;

/** Longest subject of a token, and longest name of an assignee in it, in characters. */
export const SUBJECT_MAX_CHARS = 256;

/**
 * Once an entry of a tenant has waited for so many milliseconds, further requests of that tenant are refused. So they are once the waiting
 * entries leave no room for the tenant within the second number (see `Room`).
 */
export const AUDIT_BEHIND_MAX_MS = 10_000;
export const AUDIT_WAITING_MAX_COUNT = 10_000;
/** After so many writes, or milliseconds, a stream of entries ends and another begins, so that the old one can be archived. */
export const AUDIT_STREAM_MAX_WRITES = 10_000;
export const AUDIT_STREAM_MAX_MS = 86_400_000;
/** Milliseconds without a write after which a stream ends as well; pause between two polls. */
export const AUDIT_STREAM_IDLE_MS = 3_600_000;
export const AUDIT_POLL_MS = 600_000;
/** Pause before a failed write is retried, in milliseconds. */
export const AUDIT_RETRY_MS = 500;
/** Streams that a reader lists at once; and writes of one stream that it reads at once. */
export const AUDIT_STREAMS_PAGE_COUNT = 500;
export const AUDIT_PAGE_COUNT = 100;
