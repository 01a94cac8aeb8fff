/** Owns every bound of the HTTP API, with its unit. These are the defaults of those that are settings. */

/** Checkpoints that one read fetches to fold a belief: they are in memory together. */
export const CHECKPOINTS_PAGE_COUNT = 50;

/** Longest address of a request with its query, in characters. */
export const URL_MAX_CHARS = 8_192;
/** All headers of a request together with its first line, in bytes. */
export const HEADERS_MAX_BYTES = 16_384;

/** Time in which a request must have arrived whole, and after which an idle connection is closed, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 30_000;
export const CONNECTION_TIMEOUT_MS = 60_000;
/** Longest time of an answer, in milliseconds; a request that waits longer is answered 503 and may be repeated. */
export const HANDLER_TIMEOUT_MS = 25_000;

/**
 * Requests in hand at once, reads and others each: in all (one tenant has as many as are still free, `Room`), and of one tenant those for
 * which nobody waits any more.
 */
export const WORK_MAX_COUNT = 10_000;
export const WORK_LEFT_MAX_COUNT = 500;

/** Connections at once, streams included; further ones are closed unheard. */
export const CONNECTIONS_MAX_COUNT = 40_000;
/** Bytes of answers that wait to be read: in all; one tenant has as much as is still free (`Room`). */
export const ANSWERS_MAX_BYTES = 128 * 1_024 * 1_024;
/**
 * Time without reading after which a caller is cut off, in milliseconds; noticed after twice as long at the latest. Systems take more from
 * a server when a third of their buffer is free, which may be a megabyte: a caller that reads less in that time counts as reading nothing.
 */
export const ANSWER_STALL_MS = 10_000;

/** Requests of one principal in a window. */
export const RATE_MAX_COUNT = 6_000;
/** Bytes of a body or of what is read, with the values in it (`PARSED_VALUE_BYTES`), that count as one more request. */
export const RATE_BODY_BYTES = 128 * 1_024;
/** Refused credentials from one address in a window. */
export const REFUSED_MAX_COUNT = 120;
/** Addresses that are remembered for that, and digests of good credentials. */
export const REFUSED_KEPT_MAX_COUNT = 10_000;
export const GOOD_KEPT_MAX_COUNT = 10_000;
/** Judgements of unknown credentials in so many milliseconds, for an address that has shown too many wrong ones. */
export const UNKNOWN_JUDGED_MAX_COUNT = 10;
export const UNKNOWN_JUDGED_WINDOW_MS = 1_000;
/** Requests from one address in a window that need no credentials: the console's files, the document, the liveness probe. */
export const OPEN_MAX_COUNT = 6_000;
/** The window, in milliseconds. */
export const RATE_WINDOW_MS = 60_000;

/** Rows in one page: at most, and by default. */
export const PAGE_MAX_COUNT = 500;
/** Hand-overs between phases in a page, each of which is a read of its own. */
export const HANDOVERS_MAX_COUNT = 100;
export const PAGE_DEFAULT_COUNT = 50;
/** Newest events beside checkpoints and effects in which the reason of a compensation is searched for. */
export const NOTES_READ_COUNT = 200;
/** Pending tasks that come with a workflow. */
export const TASKS_SHOWN_COUNT = 200;
/** Events of a timeline in one answer; they are small. */
export const TIMELINE_PAGE_COUNT = 20_000;

/** Spans of a trace in one answer. */
export const TRACE_PAGE_COUNT = 2_000;

/** Longest wait for one probe of a recovery plan, and for all of them, in milliseconds. */
export const PROBE_ANSWER_MAX_MS = 10_000;
export const PROBES_ANSWER_MAX_MS = 20_000;

/** Time for which a started workflow that rows don't know yet is polled for, in milliseconds; the pause between two polls, which doubles, and its longest. */
export const STARTED_GRACE_MS = 5_000;
export const STARTED_POLL_MS = 5;
export const STARTED_POLL_MAX_MS = 80;
/** Workflows whose tenants are remembered, the last requested ones. */
export const TENANTS_KEPT_MAX_COUNT = 10_000;

/** Longest wait of a request for a result, in milliseconds. */
export const RESULT_WAIT_MAX_MS = 20_000;
/** Seconds after which to retry, sent with a refusal for want of capacity or of a server. */
export const RETRY_AFTER_S = 1;

/** Streams of server-sent events: of one principal, and in all; one tenant has as many as are still free (`Room`). */
export const STREAMS_OF_PRINCIPAL_MAX = 2_000;
export const STREAMS_MAX = 10_000;
/** Bytes that wait for one follower; one that reads more slowly is cut off, and may reconnect for the rest. */
export const FOLLOWER_BUFFER_MAX_BYTES = 512 * 1_024;
/** Characters of a payload beyond which a stream leaves it out; the history has it. */
export const STREAMED_PAYLOAD_MAX_CHARS = 128 * 1_024;
/** Period of the comment to every follower, in milliseconds, which shows whether it is still there; one that reads nothing for two periods is cut off. */
export const HEARTBEAT_PERIOD_MS = 15_000;
/** Longest stream, in milliseconds: its follower reconnects with credentials that still hold. */
export const STREAM_LIFE_MAX_MS = 3_600_000;
/** Time after which a follower that was cut off reconnects, in milliseconds; the stream says so. */
export const FOLLOWER_RETRY_MS = 500;
/** Newest events of a followed workflow that are kept for new followers, at most: in number, and in characters of payload. */
export const FEED_KEPT_MAX_COUNT = 64;
export const FEED_KEPT_MAX_CHARS = 64 * 1_024;
/** Time for which a workflow is still read after its last follower left, in milliseconds. */
export const FEED_LINGER_MS = 10_000;
/** Pause between two polls of the log, and the period of polls without a hint, in milliseconds. */
export const FEED_PAUSE_MS = 5;
export const FEED_SWEEP_PERIOD_MS = 2_000;
/** Bytes of one read of the log. */
export const FEED_READ_MAX_BYTES = 4 * 1_024 * 1_024;
/** Bytes of one read of a follower's history, at first and while little of it is the workflow's; and unread bytes at which sending it pauses. */
export const REPLAY_READ_MIN_BYTES = 128 * 1_024;
export const REPLAY_READ_MAX_BYTES = 1_024 * 1_024;
export const REPLAY_UNREAD_MAX_BYTES = 128 * 1_024;
/** Followers whose history is read at once; others wait. */
export const REPLAYS_AT_ONCE = 4;
/** Workflows whose state is fetched with one statement. */
export const FEED_OPEN_MAX_COUNT = 200;
/** Period at which a follower is judged again, in milliseconds: a revoked key or an expired token may keep a stream for so long. */
export const FOLLOWER_JUDGED_MS = 10_000;

/** Age up to which a view of the fleet is returned again, in milliseconds. */
export const FLEET_KEPT_MS = 2_000;
/** How often the rate of events is sampled, in milliseconds, and samples that are kept: ten minutes. */
export const FLEET_SAMPLE_PERIOD_MS = 5_000;
export const FLEET_SAMPLES_MAX_COUNT = 121;
/** Age of the coordinators' marker from which on a beat proves anything, in milliseconds. */
export const LIVENESS_MARKER_MS = 2_000;
/**
 * Period in which changes of workflows are gathered for lists, in milliseconds; and changed partitions, and workflows in them, beyond which
 * only their number is reported.
 */
export const CHANGES_PERIOD_MS = 250;
export const CHANGES_PARTITIONS_MAX_COUNT = 500;
export const CHANGES_ROWS_MAX_COUNT = 2_000;
/** Workflows whose positions are read when a follower begins; with more, some that did not move are reported once. */
export const CHANGES_BEGINNING_ROWS_MAX_COUNT = 10_000;
/** Future slots in a schedule's answer. */
export const SCHEDULE_SLOTS_SHOWN_COUNT = 5;

/** Default life of an API key, in milliseconds: 90 days. */
export const KEY_LIFE_DEFAULT_MS = 90 * 86_400_000;

/** Approvals in one page: at most, and by default. */
export const APPROVALS_MAX_COUNT = 100;
export const APPROVALS_DEFAULT_COUNT = 50;
/** Facts, and preferences, in one answer at most; facts by default. */
export const MEMORIES_MAX_COUNT = 1_000;
export const MEMORIES_DEFAULT_COUNT = 50;
/** Longest build of the console in a checkout, in milliseconds. */
export const CONSOLE_BUILD_TIMEOUT_MS = 120_000;

/** Workflows that are read to count what a job would find. */
export const JOB_COUNT_MAX_COUNT = 10_000;

/** Wrong fields that an answer names, and characters of a field's place and fault: both may quote the request. */
export const PROBLEM_FIELDS_MAX_COUNT = 20;
export const PROBLEM_FIELD_MAX_CHARS = 200;

/** Highest number that is reported of calls that may have happened when an end leaves them open. */
export const OPEN_EFFECTS_MAX_COUNT = 100;
/** Model calls that are rebuilt for one answer: each may have a bundle of megabytes. */
export const CALLS_MAX_COUNT = 50;
/** Newest workflows of a session among which its live one is searched for. */
export const SESSION_READ_COUNT = 50;
