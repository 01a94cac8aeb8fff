/** Owns the limits and defaults that several files share, each with its unit. Must hold no behaviour. */

import type { ConfirmationPolicy, RetryPolicy } from '@tidemark/runtime';

/** Retry of a step when neither the workflow nor the step sets one. */
export const STEP_RETRY_DEFAULT: RetryPolicy = {
  attempts: 5,
  firstDelayMs: 200,
  factor: 2,
  maxDelayMs: 60_000,
  jitter: 0.2,
  nonRetryable: [],
};

/** Default retry of an effect. A further attempt at an irreversible one calls its probe first, and never calls blindly. */
export const EFFECT_RETRY_DEFAULT: RetryPolicy = {
  attempts: 5,
  firstDelayMs: 200,
  factor: 2,
  maxDelayMs: 30_000,
  jitter: 0.2,
  nonRetryable: [],
};

/** Follow-up of an effect that is confirmed later: probes a minute apart, a person after a day. */
export const CONFIRM_DEFAULT: ConfirmationPolicy = { probeEveryMs: 60_000, timeoutMs: 24 * 60 * 60 * 1_000 };
