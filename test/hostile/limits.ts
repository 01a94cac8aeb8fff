/** Owns the bounds of a hostile run, with their units. */

/** Malformed inputs of a whole run, and of the short one in CI. */
export const INPUTS_DEFAULT_COUNT = 1_000_000;
/** Share of them that are records, appended to the log; the others are requests. */
export const RECORDS_SHARE = 0.3;
/** Connections of the attackers at once. */
export const CONNECTIONS_COUNT = 64;
/** Attacking tenants: each has a key of a viewer, and one of an operator. */
export const ATTACKERS_COUNT = 24;
/** Requests a second in the comparison, valid or malformed; and those of the tenant beside, always valid. */
export const RATE_DEFAULT = 250;
export const TENANT_RATE = 20;
/** Rounds of the comparison, each of valid and then of malformed requests, and seconds that one of them takes. */
export const ROUNDS_DEFAULT_COUNT = 5;
export const ROUND_S = 12;
/** A request that has no answer after so many milliseconds is given up, and its connection closed. */
export const ANSWER_TIMEOUT_MS = 45_000;
/** Attacking workflows that are sent signals before the attack, how many each, and values in one: every read of such a workflow is large. */
export const LARGE_WORKFLOWS_COUNT = 3;
export const LARGE_SIGNALS_COUNT = 2;
export const LARGE_SIGNAL_VALUES_COUNT = 99_000;
/** Bytes to which each appended bomb unpacks. */
export const BOMB_BYTES = 128 * 1_048_576;
/** Appended to the log at once, in records. */
export const RECORDS_BATCH_COUNT = 500;
/** Memory limits of the chart (helm/tidemark/values.yaml), in MB. */
export const COORDINATOR_MAX_MB = 768;
export const WORKER_MAX_MB = 1_024;
