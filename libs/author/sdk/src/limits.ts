/** Owns the SDK's named limits and defaults, each with its unit. Must hold no behaviour. */

import type { ConfirmationPolicy, RetryPolicy } from '@tidemark/runtime';

/** Codes of errors that a retry policy may name as final, at most. */
export const NON_RETRYABLE_MAX_COUNT = 100;

/** Characters of the name of a workflow, a step or an operation, at most. */
export const NAME_MAX_CHARS = 128;

/** Most attempts of a retry policy. */
export const ATTEMPTS_MAX_COUNT = 1_000;
/** Longest delay between two attempts in a retry policy: a week. */
export const RETRY_DELAY_MAX_MS = 7 * 24 * 60 * 60 * 1_000;

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
/** Shortest time between two probes of an unconfirmed effect, in milliseconds. */
export const CONFIRM_PROBE_MIN_MS = 100;
/** Longest wait for a confirmation before a person is asked: a year. */
export const CONFIRM_TIMEOUT_MAX_MS = 366 * 24 * 60 * 60 * 1_000;
/** Characters of the token of an effect that is confirmed later, at most. */
export const PENDING_TOKEN_MAX_CHARS = 512;

/** Default number of checkpoints after which the workflow asks a person whether to continue. */
export const STEP_BUDGET_DEFAULT_COUNT = 100_000;

/** Time-out of one call of an effect by default. */
export const EFFECT_TIMEOUT_DEFAULT_MS = 30_000;
/** Longest time-out of one call of an effect: an hour. A longer one is better split into requesting and fetching. */
export const EFFECT_TIMEOUT_MAX_MS = 60 * 60 * 1_000;

/** Tasks of one workflow under way at once, by default. */
export const PARALLEL_DEFAULT_COUNT = 8;
/** Tasks of one workflow under way at once, at most. */
export const PARALLEL_MAX_COUNT = 256;

/** Problems of one value that an error message lists; the rest are counted. */
export const PROBLEMS_SHOWN_COUNT = 3;
/** Characters of one problem's text in an error message, which bounds a value that a check quotes. */
export const PROBLEM_MAX_CHARS = 200;
/** Levels of nested schemas that the start-time check follows. */
export const SCHEMA_DEPTH_MAX = 64;

/** Of a tool call: characters of its id, and of the digest of its request, in its effect's key. */
export const CALL_ID_MAX_CHARS = 100;
export const CALL_DIGEST_CHARS = 16;
/** Time-out of a tool that only answers, in milliseconds. */
export const TOOL_TIMEOUT_MS = 600_000;
/** Names of tools that every provider takes. */
export const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** How often a structured answer that doesn't fit its schema is sent back to the model. */
export const REPAIRS_MAX_COUNT = 1;
/** Working memory of a phase by default, in tokens. */
export const PHASE_BUDGET_DEFAULT_TOKENS = 4_000;
/** Default number of equal requests before the workflow is stopped as running in circles. */
export const REPEATS_DEFAULT_COUNT = 10;

/** Characters of the key of a pipeline's step, at most. */
export const PIPELINE_KEY_MAX_CHARS = 200;
/** Characters of a gate's evidence that its error's message shows. */
export const EVIDENCE_SHOWN_MAX_CHARS = 500;
/** Hand-overs from outside that a step reads, at most. */
export const HANDOFFS_READ_MAX_COUNT = 100;
/** Most unflushed staged checkpoints of a definition, and for how many milliseconds. */
export const STAGED_STEPS_MAX_COUNT = 1_000;
export const STAGED_DELAY_MAX_MS = 10_000;

/** Fields of knowledge that a definition may name, and characters of one's name. */
export const DOMAINS_MAX_COUNT = 8;
export const DOMAIN_MAX_CHARS = 200;
