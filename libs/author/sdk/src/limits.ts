/** Owns the limits and defaults that several files share, each with its unit. Must hold no behaviour. */

import type { ConfirmationPolicy } from '@tidemark/runtime';

/** Follow-up of an effect that is confirmed later: probes a minute apart, a person after a day. */
export const CONFIRM_DEFAULT: ConfirmationPolicy = { probeEveryMs: 60_000, timeoutMs: 24 * 60 * 60 * 1_000 };

/** Most calls of a function since its last chapter: each is given again after every hand-over. */
export const FUNCTION_CALLS_MAX_COUNT = 100_000;
/** Of an agent: calls of its model by default, as in the AI SDK; calls of tools in one answer; tokens of its bundle by default. */
export const AGENT_STEPS_DEFAULT_COUNT = 20;
export const AGENT_CALLS_MAX_COUNT = 64;
export const AGENT_BUNDLE_DEFAULT_TOKENS = 32_000;
/** Largest file that is stored with a message, in bytes. As base64 it takes a third more, in an event and in rows. */
export const FILE_MAX_BYTES = 4 * 1_024 * 1_024;
/** Characters of base64 from which on a tool's result has a file in words. */
export const SPOKEN_FILE_MIN_CHARS = 256;
