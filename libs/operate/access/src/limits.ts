/** Owns this library's named limits, with their units. */

/** Parts of an API key: characters of its public id and of its secret, five random bits each. */
export const KEY_ID_CHARS = 16;
export const KEY_SECRET_CHARS = 52;
/** Milliseconds after which a revocation, an expiry or a suspension counts everywhere, besides the lag of rows. */
export const KEY_AGE_MAX_MS = 5_000;
/** Keys and tenants that a process remembers, the last used; and unknown ids of keys. */
export const KEYS_REMEMBERED_MAX_COUNT = 10_000;
export const UNKNOWN_REMEMBERED_MAX_COUNT = 1_000;
/** Period at which times of last use are stored, in milliseconds; and keys in one event. */
export const KEY_USED_PERIOD_MS = 600_000;
export const KEY_USED_AT_ONCE = 100;
/** Records that one read fetches when keys or tenants are listed. */
export const ACCESS_PAGE_COUNT = 500;
/** Longest name of a key or a tenant, in characters. */
export const ACCESS_NAME_MAX_CHARS = 128;
/** Longest life of a key, in milliseconds: ten years. A key without an end must be requested explicitly. */
export const KEY_LIFE_MAX_MS = 10 * 366 * 86_400_000;

/** Longest `Authorization` header that is read, in characters; a longer one is refused unread. */
export const AUTHORIZATION_MAX_CHARS = 16_384;

/** Largest body of a request, in bytes. */
export const BODY_MAX_BYTES = 4 * 1_024 * 1_024;
/**
 * Bytes of all content in hand: what was read of bodies and for answers, and what each of their values takes once parsed. One tenant or
 * address has as much as is still free (`Room`).
 */
export const BODIES_MAX_BYTES = 64 * 1_024 * 1_024;
/** Most that one answer may take of it, in bytes; and, beside that, what is folded into an answer of any length. */
export const READ_MAX_BYTES = 48 * 1_024 * 1_024;
export const READ_PASSING_MAX_BYTES = 8 * 1_024 * 1_024;
/** Longest wait of a read for it, in milliseconds, and reads that wait (those of one tenant: as many as places are still free). */
export const READ_WAIT_MAX_MS = 10_000;
export const READS_WAITING_MAX_COUNT = 256;
/** Pieces of a body that may have any size, and the smallest average size of further ones, in bytes: each costs the server, however small. */
export const BODY_PIECES_FREE_COUNT = 1_024;
export const BODY_PIECE_MIN_BYTES = 64;

/** Seconds by which the clocks of the issuer and of this process may differ. */
export const CLOCK_TOLERANCE_S = 30;
/** Milliseconds for which an issuer's keys are used without a new fetch; and in all while the issuer can't be reached. */
export const ISSUER_KEYS_FRESH_MS = 600_000;
export const ISSUER_KEYS_STALE_MAX_MS = 3_600_000;
/** Pause between two fetches for unknown keys that tokens name, in milliseconds: anybody can name a key. */
export const ISSUER_REFETCH_MS = 5_000;
/** Keys that are tried for a token that names none: each costs a verification, also for forged tokens. */
export const ISSUER_KEYS_TRIED_MAX_COUNT = 8;
/** Longest wait for an issuer's answer, in milliseconds, and its largest, in bytes. */
export const ISSUER_TIMEOUT_MS = 5_000;
export const ISSUER_ANSWER_MAX_BYTES = 1_048_576;
/** Roles and groups, and teams, that are read from a token. */
export const CLAIMED_ROLES_MAX_COUNT = 1_000;
/** Longest subject of a token, and longest name of an assignee in it, in characters. */
export const SUBJECT_MAX_CHARS = 256;

/**
 * Milliseconds within which an entry is in the log, while the log accepts any. An entry for which an answer waits is written at once, but
 * writes of one tenant begin so many milliseconds apart, so that concurrent callers share one.
 */
export const AUDIT_FLUSH_MS = 1_000;
export const AUDIT_GATHER_MS = 25;
/**
 * Milliseconds of waiting after which further requests of the entry's tenant are refused. As many waiting entries as are still free of the
 * second number (`Room`) do the same.
 */
export const AUDIT_BEHIND_MAX_MS = 10_000;
export const AUDIT_WAITING_MAX_COUNT = 10_000;
/** Entries in one write to the log. */
export const AUDIT_BATCH_MAX_COUNT = 500;
/** Writes, and milliseconds, after which a stream of entries ends and another begins, so that old ones are archived. */
export const AUDIT_STREAM_MAX_WRITES = 10_000;
export const AUDIT_STREAM_MAX_MS = 86_400_000;
/** Milliseconds without a write after which a stream ends as well; pause between two polls. */
export const AUDIT_STREAM_IDLE_MS = 3_600_000;
export const AUDIT_POLL_MS = 600_000;
/** Pause before a failed write is retried, in milliseconds. */
export const AUDIT_RETRY_MS = 500;
/** Abandoned streams that one poll lists. */
export const AUDIT_STREAMS_READ_MAX = 10_000;
/** Streams that a reader lists at once, and writes of one that it reads at once. */
export const AUDIT_STREAMS_PAGE_COUNT = 500;
export const AUDIT_PAGE_COUNT = 100;
/** Entries that are read for one answer; where few of them fit, the answer says how to continue. */
export const AUDIT_SCANNED_MAX_COUNT = 50_000;
/** Longest wait of an entry until a stream is opened for it, in milliseconds. */
export const AUDIT_OPENING_LAG_MS = 86_400_000;
/** Milliseconds by which an entry may stand later in its stream than others of its time: its tenant had to be looked up first, or clocks were set back. */
export const AUDIT_ROUTED_MAX_MS = 60_000;
/** Longest text of an entry's field, in characters; longer ones are cut. */
export const AUDIT_TEXT_MAX_CHARS = 256;
/** Entries in one answer at most. */
export const AUDIT_READ_MAX_COUNT = 10_000;
