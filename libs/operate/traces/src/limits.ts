/** Owns the limits of traces. */

/** Events (signals, decisions, budgets) on a workflow's own span at most; the rest is counted. */
export const SPAN_EVENTS_MAX = 128;
/** Longest value of an attribute that holds content, in characters. */
export const CONTENT_MAX_CHARS = 8_192;
/** Bytes of one read of history from log and segments. */
export const HISTORY_READ_MAX_BYTES = 4 * 1024 * 1024;
/** Spans of one request to a collector, at most: some 700 KB of usual ones. A request costs as much as drawing hundreds. */
export const SPANS_PER_REQUEST_MAX = 2_048;
/** Bytes of one request, at most, by an estimate: half of the 4 MiB that collectors take over gRPC unless they are told otherwise. */
export const REQUEST_MAX_BYTES = 2 * 1_024 * 1_024;
/** After one that was refused for its size, each one that is taken lets the next be larger by this. */
export const REQUEST_GROWTH_FACTOR = 1.25;
/** A request of at most so many bytes is not refused for its size. */
export const REQUEST_SMALL_BYTES = 65_536;
/** Of a span that is cut because it alone is too large: attributes, and characters of each text, at most. */
export const CUT_ATTRIBUTES_MAX_COUNT = 64;
export const CUT_TEXT_MAX_CHARS = 256;
/** Spans that wait for a collector, at most; further ones are dropped and counted. */
export const SPANS_WAITING_MAX = 32_768;
/** Time between two requests, in milliseconds, while nothing fails. */
export const FLUSH_PERIOD_MS = 1_000;
/** Time between two sendings of metrics, in milliseconds (the default of OTEL_METRIC_EXPORT_INTERVAL). */
export const METRICS_PERIOD_MS = 60_000;
/** Longest request, in milliseconds (the default of OTEL_EXPORTER_OTLP_TIMEOUT). */
export const REQUEST_TIMEOUT_MS = 10_000;
/** First and longest pause after a request that failed, in milliseconds. */
export const RETRY_FIRST_MS = 1_000;
export const RETRY_MAX_MS = 30_000;
/**
 * When the process ends: how long, in milliseconds, a collector may take to answer a request, and how long further requests begin. Their
 * packages are loaded before.
 */
export const LAST_ANSWER_MAX_MS = 2_000;
export const LAST_FLUSH_MAX_MS = 3_000;
/** Workflows whose open spans are kept in memory, at most; others are drawn from the log again. */
export const OPEN_TRACES_MAX = 20_000;
/** Events that may wait for one workflow's history, at most; beyond, the history is read again from the start. */
export const EVENTS_WAITING_MAX = 4_096;
/** Workflows whose history waits to be read, at most; spans of further ones are dropped and counted. */
export const HISTORIES_WAITING_MAX = 10_000;
/** Period of the poll for events that were folded and never exported, in milliseconds. */
export const POLL_PERIOD_MS = 2_000;
/** Least time between two writes of export positions, in milliseconds: a crash may send as much again. */
export const MARK_PERIOD_MS = 5_000;
