/** Owns the limits and defaults that several files share, each with its unit. Must hold no behaviour. */

import type { ConfirmationPolicy } from '@tidemark/runtime';

/** Follow-up of an effect that is confirmed later: probes a minute apart, a person after a day. */
export const CONFIRM_DEFAULT: ConfirmationPolicy = { probeEveryMs: 60_000, timeoutMs: 24 * 60 * 60 * 1_000 };

/** Largest file that is stored with a message, in bytes. As base64 it takes a third more, in an event and in rows. */
export const FILE_MAX_BYTES = 4 * 1_024 * 1_024;
/** Characters of base64 from which on a tool's result has a file in words. */
export const SPOKEN_FILE_MIN_CHARS = 256;
