/** Owns the statuses of HTTP with which a receiver refuses. Pure. */

/**
 * With these a receiver refuses before it acts, and would again, unless it asks to come back (RFC 9110; 428, 431: RFC 6585; 402: declined).
 * Not among them: 408, since proxies send it for a slow receiver as well; 409, which the draft of Idempotency-Key prescribes while an
 * earlier call of the key is at work, and many receivers send when its result exists; 421, 425 and 429, which pass.
 */
export const REFUSED_STATUSES: ReadonlySet<number> = new Set([
  ...[400, 401, 402, 403, 404, 405, 406, 407, 410, 411, 412, 413, 414, 415, 416, 417, 422, 426, 428, 431, 451],
]);
