/** Owns the limits and defaults that several files share, each with its unit. Must hold no behaviour. */

import type { ConfirmationPolicy } from '@tidemark/runtime';

/** Follow-up of an effect that is confirmed later: probes a minute apart, a person after a day. */
export const CONFIRM_DEFAULT: ConfirmationPolicy = { probeEveryMs: 60_000, timeoutMs: 24 * 60 * 60 * 1_000 };

/** Most calls of a function since its last chapter: each is given again after every hand-over. */
export const FUNCTION_CALLS_MAX_COUNT = 100_000;
