/** Owns every limit of the command line: name, unit, default. */

/** Workflows that `ls` shows by default, and at most. */
export const LIST_DEFAULT_COUNT = 20;
export const LIST_MAX_COUNT = 10_000;
/** Things in one page of a list that is read page by page. */
export const PAGE_COUNT = 200;
/** Approvals, or questions, in one page: the API answers no more. */
export const WAITING_PAGE_COUNT = 100;
/** Hand-overs between phases in one answer: the API returns no more. */
export const HANDOVERS_PAGE_COUNT = 100;
/** Pending tasks that `show` lists without `--tasks`, and reads at most. */
export const TASKS_SHOWN_COUNT = 12;
export const TASKS_READ_MAX = 10_000;
/** Events of one workflow, other than checkpoints and effects, that are read at most. */
export const EVENTS_READ_MAX = 10_000;
/** Rejected records that `doctor` reads to count their reasons. */
export const REJECTED_READ_COUNT = 1_000;

/** Open workflows, and newest of any status, that are followed at once. */
export const FOLLOW_OPEN_MAX = 1_000;
export const FOLLOW_NEWEST_COUNT = 200;
/** Milliseconds within which changes are reported together. */
export const FOLLOW_GATHER_MS = 50;
/** Period at which all workflows are listed again while nothing comes, in milliseconds. */
export const FOLLOW_PERIOD_MS = 2_000;
/** Workflows whose reported state is remembered, before all are listed again and those that ended long ago are forgotten. */
export const FOLLOW_REPORTED_MAX_COUNT = 10_000;
/** Attempts to read what happened to one of many workflows, before the others are reported. */
export const FOLLOW_TRIES_MAX_COUNT = 3;
/** Poll interval for an undo that waits for a person, in milliseconds. */
export const UNDO_POLL_MS = 500;
/** Poll interval for a holder of a folder, in milliseconds. */
export const HOLDER_POLL_MS = 250;
/** Moved workflows, or checkpoints of one, in one read, from which on people see their number instead. */
export const CROWD_MIN_COUNT = 25;
/** Waiting workflows that `dev` names at its start. */
export const PARKED_SHOWN_COUNT = 10;

/** Workflows that `dev` and `run` run at once. */
export const CONCURRENCY_COUNT = 100;
/** Time, in milliseconds, that steps under way have after Ctrl-C. */
export const DRAIN_MS = 5_000;
/** Longest wait, in milliseconds, for rows to hold all of the log when a folder is opened. */
export const CATCH_UP_MAX_MS = 120_000;
/** How long, in milliseconds, a command waits for a folder that one and the same process holds without answering. */
export const FOLDER_WAIT_MS = 5_000;
/** How long, in milliseconds, it waits at most while others hold or open the folder in turn; and after which a turn that isn't touched is over. */
export const TURNS_WAIT_MS = 60_000;
export const TURN_STALE_MS = 10_000;
/** Pause between two attempts or polls while waiting for something that gives no sign, in milliseconds. */
export const RETRY_PAUSE_MS = 50;
/** Milliseconds without a sign of life after which people are told what may be missing. */
export const STALL_NOTICE_MS = 5_000;

/** Largest file of contexts, in bytes, and most contexts in it. */
export const CONTEXTS_MAX_BYTES = 1_048_576;
export const CONTEXTS_MAX_COUNT = 100;
/** How long a command waits for another that changes them, which may wait for an issuer; milliseconds. */
export const CONTEXTS_WAIT_MS = 30_000;
/** A context's name. */
export const CONTEXT_NAME = /^[\w.-]{1,100}$/;
/** Largest credential, in bytes. */
export const CREDENTIAL_MAX_BYTES = 16_384;
/** How long, in milliseconds, the holder of a folder may take to identify itself. */
export const HOLDER_ANSWER_MS = 5_000;
/** How long, in milliseconds, an issuer of tokens may take to answer. */
export const ISSUER_ANSWER_MS = 10_000;
/** A token that expires sooner than this, in milliseconds, is renewed before it is used. */
export const TOKEN_SPARE_MS = 30_000;
/** How long, in milliseconds, a person may take to log in. */
export const LOGIN_MAX_MS = 600_000;

/** Longest path, in bytes, of a socket on every system. */
export const SOCKET_PATH_MAX_BYTES = 100;

/** Largest input of a workflow, in bytes, that is read from a file or standard input. */
export const INPUT_MAX_BYTES = 16_777_216;
/** Longest wait for a server's answer in `doctor`, in milliseconds. */
export const PROBE_TIMEOUT_MS = 5_000;
/** Events behind the log from which `doctor` warns. */
export const LAG_WARN_COUNT = 10_000;
/** Newest workflows whose histories `doctor` reads for its advice; and newest events and checkpoints of each. */
export const RECENT_WORKFLOWS_COUNT = 10;
export const RECENT_EVENTS_COUNT = 500;
export const RECENT_CHECKPOINTS_COUNT = 50;
/** Steps of a name from which on their times are judged; and milliseconds below which a commit is cheap whatever the step. */
export const STEPS_JUDGED_MIN_COUNT = 10;
export const COMMIT_COST_MIN_MS = 5;
/** Effects of a definition from which on their kinds are judged, and the share of irreversible ones above which `doctor` says so. */
export const EFFECTS_JUDGED_MIN_COUNT = 10;
export const EFFECTS_IRREVERSIBLE_SHARE = 0.2;
/** Milliseconds from the loss of a holder to the next claim from which on a takeover is slow. */
export const TAKEOVER_SLOW_MS = 5_000;
/** Size of what one checkpoint holds, in bytes, from which on `doctor` says so. */
export const CHECKPOINT_LARGE_BYTES = 1_000_000;
/** Size of a belief that grows, in bytes, from which on `doctor` says so. */
export const BELIEF_GROWN_BYTES = 65_536;
/** Size of the log, in bytes, from which on `doctor` advises an archive. */
export const ARCHIVE_ADVISED_LOG_BYTES = 10_737_418_240;
/** A server's answer is slow from this many milliseconds on. */
export const LATENCY_WARN_MS = 50;
/** Free space, in bytes, below which `doctor` warns, and below which it fails. */
export const DISK_WARN_BYTES = 2_147_483_648;
export const DISK_FAIL_BYTES = 134_217_728;

/** Ids that a preflight reads at once, and workflows that it loads at once: its memory doesn't follow their number. */
export const PREFLIGHT_IDS_PAGE_COUNT = 1_000;
export const PREFLIGHT_STREAMS_PAGE_COUNT = 25;

/** Fragments of a past state that are shown, the newest; all of them are in the JSON. */
export const FRAGMENTS_SHOWN_COUNT = 10;
/** Differing rows that a check names to people; programs get all. */
export const DIFFERENCES_MAX_COUNT = 1_000;

/** Spans of one name below the same parent that `trace show` lists one by one. */
export const TRACE_ALIKE_COUNT = 4;
/** Columns of the picture beside the tree, and of the tree's names, at most. */
export const TRACE_PICTURE_COLUMNS = 40;
export const TRACE_NAME_COLUMNS = 48;
/** Keys or tenants that one command lists at most. */
export const ACCESS_LIST_MAX_COUNT = 10_000;
/** Entries of the audit that one command shows: by default, and at most. */
export const AUDIT_SHOWN_COUNT = 50;
export const AUDIT_SHOWN_MAX_COUNT = 10_000;

/** Poll interval for a watched job, and for the fleet on a terminal, in milliseconds. */
export const JOB_POLL_MS = 500;
export const FLEET_POLL_MS = 1_000;
/** Longest text of a filter or a name on the command line, in characters. */
export const NAME_MAX_CHARS = 200;
/** Lines that a live view keeps to show. */
export const LIVE_LINES_MAX_COUNT = 500;
/** Longest argument that a failure quotes whole, in characters. */
export const VALUE_SHOWN_MAX_CHARS = 200;
/** Longest text of a failure, in characters. */
export const FAILURE_MAX_CHARS = 10_000;
/** Longest time-out of a stage's check, in milliseconds: timers hold no more than 24 days. */
export const CHECK_TIMEOUT_MAX_MS = 24 * 3_600_000;
/** How long, in milliseconds, `migrate --wait` waits by default, and the pause between two attempts. */
export const MIGRATE_WAIT_MS = 300_000;
export const MIGRATE_AGAIN_MS = 1_000;
