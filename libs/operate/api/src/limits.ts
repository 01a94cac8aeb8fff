/** Owns every bound of the HTTP API, with its unit. Those that a deployment may want otherwise are settings; these are their defaults. */

/** Checkpoints that one read fetches. */
export const CHECKPOINTS_PAGE_COUNT = 500;

/** Longest address of a request with its query, in characters. */
export const URL_MAX_CHARS = 8_192;
/** Longest part of a path after it was decoded, in characters. */
export const PARAM_MAX_CHARS = 1_024;
/** All headers of a request together with its first line, in bytes. */
export const HEADERS_MAX_BYTES = 16_384;

/** Time in which a request must have arrived whole, and of a connection on which nothing happens, in milliseconds. */
export const REQUEST_TIMEOUT_MS = 30_000;
export const CONNECTION_TIMEOUT_MS = 60_000;
/** Time that an answer may take, in milliseconds; a request that waits longer is answered 503 and may be sent again. */
export const HANDLER_TIMEOUT_MS = 25_000;

/**
 * Requests in hand at once, reads and others each: in all (of one tenant as many as are still free, `Room`), and of one tenant such as
 * nobody waits for any more.
 */
export const WORK_MAX_COUNT = 10_000;
export const WORK_LEFT_MAX_COUNT = 500;

/** Connections at once, those of streams among them: what is beyond is closed unheard. */
export const CONNECTIONS_MAX_COUNT = 40_000;
/** Answers that wait to be read, in bytes: in all; of one tenant as much as is still free (`Room`). */
export const ANSWERS_MAX_BYTES = 128 * 1_024 * 1_024;
/**
 * Who reads nothing of its answer for so long is cut off, in milliseconds; noticed after twice as long at the latest. Systems take more off
 * a server's hands when a third of their buffer is free, which may be a megabyte: who reads less in that time reads nothing.
 */
export const ANSWER_STALL_MS = 10_000;

/** Requests of one principal in a window. */
export const RATE_MAX_COUNT = 6_000;
/** A request counts once more for each so many bytes that its body takes, with the values in it (`BODY_VALUE_BYTES`). */
export const RATE_BODY_BYTES = 128 * 1_024;
/** Refused credentials from one address in a window. */
export const REFUSED_MAX_COUNT = 120;
/** Addresses that are remembered for that, and credentials as good, by their digests. */
export const REFUSED_KEPT_MAX_COUNT = 10_000;
export const GOOD_KEPT_MAX_COUNT = 10_000;
/** Of an address that has shown as many: credentials not known as good that are judged all the same, in so many milliseconds. */
export const UNKNOWN_JUDGED_MAX_COUNT = 10;
export const UNKNOWN_JUDGED_WINDOW_MS = 1_000;
/** Requests from one address in a window for what needs no credentials: the console's files, the document, whether the process lives. */
export const OPEN_MAX_COUNT = 6_000;
/** The window, in milliseconds. */
export const RATE_WINDOW_MS = 60_000;

/** Rows in one page, at most and unless said otherwise. */
export const PAGE_MAX_COUNT = 500;
/** Hand-overs between phases in a page, each of which is a read of its own. */
export const HANDOVERS_MAX_COUNT = 100;
export const PAGE_DEFAULT_COUNT = 50;
/** Newest events beside checkpoints and effects in which it is looked for why a workflow is undone. */
export const NOTES_LOOKED_AT_COUNT = 200;
/** Pending tasks that come with a workflow. */
export const TASKS_SHOWN_COUNT = 200;
/** Events of a timeline that one answer tells; they are small. */
export const TIMELINE_PAGE_COUNT = 20_000;

/** Spans of a trace that one answer tells. */
export const TRACE_PAGE_COUNT = 2_000;

/** Longest wait for one probe that is asked for a plan, and for all of them, in milliseconds. */
export const PROBE_ANSWER_MAX_MS = 10_000;
export const PROBES_ANSWER_MAX_MS = 20_000;

/** What was started is looked for so long where rows don't know it yet, in milliseconds; the pause between two looks, which doubles, and its longest. */
export const STARTED_GRACE_MS = 5_000;
export const STARTED_POLL_MS = 5;
export const STARTED_POLL_MAX_MS = 80;
/** Workflows of which it is remembered whose they are, the last that were asked for. */
export const TENANTS_KEPT_MAX_COUNT = 10_000;

/** A request that waits for a result is answered after this long at the latest, in milliseconds. */
export const RESULT_WAIT_MAX_MS = 20_000;
/** Told with a refusal for want of room or of a server: when to come again, in seconds. */
export const RETRY_AFTER_S = 1;

/** Streams of server-sent events: of one principal, and in all; of one tenant as many as are still free (`Room`). */
export const STREAMS_OF_PRINCIPAL_MAX = 2_000;
export const STREAMS_MAX = 10_000;
/** What waits to be sent to one follower, in bytes; one who reads more slowly is cut off, and may come again for the rest. */
export const FOLLOWER_BUFFER_MAX_BYTES = 512 * 1_024;
/** A payload that is larger is left out of a stream, in characters; the history has it. */
export const STREAMED_PAYLOAD_MAX_CHARS = 128 * 1_024;
/** A comment goes to every follower this often, in milliseconds, so that whoever is gone is noticed; who reads nothing for two such times is cut off. */
export const HEARTBEAT_PERIOD_MS = 15_000;
/** A stream ends after this long, in milliseconds: who follows comes again with credentials that still hold. */
export const STREAM_LIFE_MAX_MS = 3_600_000;
/** After how long a follower that was cut off comes again, in milliseconds; told to it. */
export const FOLLOWER_RETRY_MS = 500;
/** Newest events of a followed workflow that are kept for followers who come, at most: in number, and in characters of payload. */
export const FEED_KEPT_MAX_COUNT = 64;
export const FEED_KEPT_MAX_CHARS = 64 * 1_024;
/** How long a workflow is still read after its last follower left, in milliseconds. */
export const FEED_LINGER_MS = 10_000;
/** Pause between two looks at the log, and the period of a look that no hint asked for, in milliseconds. */
export const FEED_PAUSE_MS = 5;
export const FEED_SWEEP_PERIOD_MS = 2_000;
/** Read from the log at once, in bytes. */
export const FEED_READ_MAX_BYTES = 4 * 1_024 * 1_024;
/** Followers whose history is read at once; others wait. */
export const REPLAYS_AT_ONCE = 4;
/** Workflows whose state is fetched with one statement. */
export const FEED_OPEN_MAX_COUNT = 200;
/** Who follows is judged again after so many milliseconds: so long a revoked key or an expired token may go on with a stream. */
export const FOLLOWER_JUDGED_MS = 10_000;

/** How long a view of the fleet is told again instead of looked at anew, in milliseconds. */
export const FLEET_KEPT_MS = 2_000;
/** How often the rate of events is sampled, in milliseconds, and samples that are kept: ten minutes. */
export const FLEET_SAMPLE_PERIOD_MS = 5_000;
export const FLEET_SAMPLES_MAX_COUNT = 121;
/** How long the coordinators' marker must have stood for a beat to prove anything, in milliseconds. */
export const LIVENESS_MARKER_MS = 2_000;
/** Period in which changes of workflows are gathered for lists, in milliseconds; more changed partitions, or workflows in them, are told as a number. */
export const CHANGES_PERIOD_MS = 250;
export const CHANGES_PARTITIONS_MAX_COUNT = 500;
export const CHANGES_ROWS_MAX_COUNT = 2_000;
/** Workflows whose positions are read when somebody begins to follow; of more, some that did not move are told once. */
export const CHANGES_BEGINNING_ROWS_MAX_COUNT = 10_000;
/** Slots to come that a schedule is told with. */
export const SCHEDULE_SLOTS_SHOWN_COUNT = 5;

/** Life of an API key where nothing is said, in milliseconds: 90 days. */
export const KEY_LIFE_DEFAULT_MS = 90 * 86_400_000;

/** Approvals in one page: at most, and where nothing is said. */
export const APPROVALS_MAX_COUNT = 100;
export const APPROVALS_DEFAULT_COUNT = 50;
/** Facts that one answer tells, and preferences: at most; facts where nothing is said. */
export const MEMORIES_MAX_COUNT = 1_000;
export const MEMORIES_DEFAULT_COUNT = 50;
/** How long the console's build may take in a checkout, in milliseconds. */
export const CONSOLE_BUILD_TIMEOUT_MS = 120_000;

/** Workflows that are looked at to count what a job would find. */
export const JOB_COUNT_MAX_COUNT = 10_000;

/** Wrong fields that an answer names, and characters of a field's place and of what is wrong with it: both may quote the request. */
export const PROBLEM_FIELDS_MAX_COUNT = 20;
export const PROBLEM_FIELD_MAX_CHARS = 200;

/** Calls that may have happened, of those that an end leaves open, are told up to this number. */
export const OPEN_EFFECTS_MAX_COUNT = 100;
/** Model calls that are rebuilt for one answer: each may have a bundle of megabytes. */
export const CALLS_MAX_COUNT = 50;
/** Workflows of a session among which its live one is looked for, the newest. */
export const SESSION_LOOKED_AT_COUNT = 50;
