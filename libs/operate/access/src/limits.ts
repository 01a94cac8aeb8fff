/** Owns this library's named limits, with their units. */

/** Parts of an API key: characters of its public id and of its secret, five random bits each. */
export const KEY_ID_CHARS = 16;
export const KEY_SECRET_CHARS = 52;
/** A revocation, an expiry or a suspended tenant counts everywhere after this many milliseconds at most, besides what rows lag behind. */
export const KEY_AGE_MAX_MS = 5_000;
/** Keys and tenants that a process remembers, the last used; and ids of keys that are none. */
export const KEYS_REMEMBERED_MAX_COUNT = 10_000;
export const UNKNOWN_REMEMBERED_MAX_COUNT = 1_000;
/** When a key was last used is written down so often, in milliseconds; so many keys in one event. */
export const KEY_USED_PERIOD_MS = 600_000;
export const KEY_USED_AT_ONCE = 100;
/** Records that are read at once when keys or tenants are listed. */
export const ACCESS_PAGE_COUNT = 500;
/** Longest name of a key or a tenant, in characters. */
export const ACCESS_NAME_MAX_CHARS = 128;
/** Longest life that a key can be given, in milliseconds: ten years. One without an end has to be asked for. */
export const KEY_LIFE_MAX_MS = 10 * 366 * 86_400_000;

/** Longest `Authorization` header that is looked at, in characters: what is longer is refused unread. */
export const AUTHORIZATION_MAX_CHARS = 16_384;

/** Largest body of a request, in bytes. */
export const BODY_MAX_BYTES = 4 * 1_024 * 1_024;
/** All bodies in hand: what was read of them, and for each of their values what it takes once it is parsed, in bytes. Of one tenant or address as much as is still free (`Room`). */
export const BODIES_MAX_BYTES = 64 * 1_024 * 1_024;
export const BODY_VALUE_BYTES = 100;
/** Pieces of a body that may be of any size, and how large further ones must be on the average, in bytes: each costs the server, however small. */
export const BODY_PIECES_FREE_COUNT = 1_024;
export const BODY_PIECE_MIN_BYTES = 64;

/** Clocks of the issuer and of this process may differ by so many seconds. */
export const CLOCK_TOLERANCE_S = 30;
/** An issuer's keys are used without asking again for so many milliseconds; while it can't be reached, for so many in all. */
export const ISSUER_KEYS_FRESH_MS = 600_000;
export const ISSUER_KEYS_STALE_MAX_MS = 3_600_000;
/** Pause between two questions for keys that are named by a token and unknown, in milliseconds: anybody can name a key. */
export const ISSUER_ASKED_AGAIN_MS = 5_000;
/** Keys that a token without a key's name is held against: each costs a verification, also for tokens that are forged. */
export const ISSUER_KEYS_TRIED_MAX_COUNT = 8;
/** Longest wait for an issuer's answer, in milliseconds, and its largest, in bytes. */
export const ISSUER_TIMEOUT_MS = 5_000;
export const ISSUER_ANSWER_MAX_BYTES = 1_048_576;
/** Roles and groups in a token that are looked at, and teams. */
export const CLAIMED_ROLES_MAX_COUNT = 1_000;
/** Longest subject of a token, and longest name in it that tasks can ask for, in characters. */
export const SUBJECT_MAX_CHARS = 256;

/**
 * What is audited is in the log within so many milliseconds, while the log takes anything; what an answer waits for at once, but writes of one
 * tenant begin so many milliseconds apart, that those who ask at once share one.
 */
export const AUDIT_FLUSH_MS = 1_000;
export const AUDIT_GATHER_MS = 25;
/**
 * What waits longer than this, in milliseconds, keeps what follows of its tenant from being answered; and so do as many as are still free of
 * so many in all (`Room`).
 */
export const AUDIT_BEHIND_MAX_MS = 10_000;
export const AUDIT_WAITING_MAX_COUNT = 10_000;
/** Entries that go to the log in one write. */
export const AUDIT_BATCH_MAX_COUNT = 500;
/** A stream of entries ends after so many writes, or so many milliseconds, and another begins: so old ones are archived. */
export const AUDIT_STREAM_MAX_WRITES = 10_000;
export const AUDIT_STREAM_MAX_MS = 86_400_000;
/** One that nothing was written to for so long ends as well, in milliseconds; pause between two looks. */
export const AUDIT_STREAM_IDLE_MS = 3_600_000;
export const AUDIT_POLL_MS = 600_000;
/** Pause before a write that failed is tried again, in milliseconds. */
export const AUDIT_RETRY_MS = 500;
/** Streams that are looked for at once which nobody has ended. */
export const AUDIT_STREAMS_READ_MAX = 10_000;
/** Streams that a reader lists at once, and writes of one that it reads at once. */
export const AUDIT_STREAMS_PAGE_COUNT = 500;
export const AUDIT_PAGE_COUNT = 100;
/** Entries that are looked at for one answer, where few of them fit: it says then how to go on. */
export const AUDIT_LOOKED_MAX_COUNT = 50_000;
/** Entries may wait so long, in milliseconds, until a stream is opened for them. */
export const AUDIT_OPENING_LAG_MS = 86_400_000;
/** An entry stands at most so much later in its stream than those of its time, in milliseconds: whose it was had to be looked up first, or clocks were set back. */
export const AUDIT_ROUTED_MAX_MS = 60_000;
/** Longest text of an entry's field, in characters: what is longer is cut. */
export const AUDIT_TEXT_MAX_CHARS = 256;
/** Entries that one question for the audit answers at most. */
export const AUDIT_READ_MAX_COUNT = 10_000;
