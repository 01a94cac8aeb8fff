/** Owns every limit of the runtime: name, unit, default. Options that change one say so where they are read. */

/** Texts of at least this many characters are stored once a workflow, and named by their digests from then on. */
export const SHARED_TEXT_MIN_CHARS = 96;
/** Earlier workflows of a session that a bundle shows, the nearest. */
export const SESSION_RUNS_MAX = 8;
/** Fragments, and changes of long-term memory, that one checkpoint holds at most; characters of a memory's subject and key. */
export const FRAGMENTS_PER_CHECKPOINT_MAX = 1_000;
export const MEMORIES_PER_CHECKPOINT_MAX = 100;
export const MEMORY_KEY_MAX_CHARS = 256;
/** Characters of a session's and of a user's name: with what stands before it, it is the subject of memories. */
export const SESSION_NAME_MAX_CHARS = 240;
/** Longest wait for the rows that the summary of a failed workflow is made from, in milliseconds. */
export const FAILURE_SUMMARY_MAX_MS = 2_000;
/** Entries of long-term memory that one read answers when it doesn't say. */
export const MEMORIES_READ_DEFAULT_COUNT = 100;
/** Checkpoints that a session's summary by rule is made of: the last. */
export const SESSION_TRACE_MAX_COUNT = 200;
/** Preferences and facts of a user that are put into bundles, before they are cut to a lane's share. */
export const INJECTED_STATE_MAX_COUNT = 100;
export const INJECTED_FACTS_MAX_COUNT = 50;
/** Workflows of a session that are listed, the newest. */
export const SESSIONS_LIST_MAX_COUNT = 100;
/** What a brief of a session tells at most: workflows, pending tasks, hand-overs and summaries; and events that are read for its question. */
export const BRIEF_WORKFLOWS_MAX_COUNT = 50;
export const BRIEF_TASKS_MAX_COUNT = 200;
export const BRIEF_RECORDS_MAX_COUNT = 10;
export const BRIEF_EVENTS_READ_MAX = 1_000;
/** Longest wait that a receiver can ask for with its refusal, in milliseconds. */
export const RETRY_AFTER_MAX_MS = 24 * 3_600_000;
/**
 * Longest wait, in milliseconds, for others' calls to say what they cost, where only what they have reserved leaves too little of a
 * budget; and the shortest pause between two looks (up to five times as long, at random).
 */
export const BUDGET_WAIT_MAX_MS = 120_000;
export const BUDGET_LOOK_MS = 50;
/** What a model is told of a session when it summarises it, at most, in tokens: the newest of it. */
export const SESSION_PROMPT_MAX_TOKENS = 8_000;
/** Paused workflows of a tenant that look again when a budget is set, the newest. */
export const PAUSED_RESUMED_MAX_COUNT = 10_000;
/**
 * Workflows that are paused for want of budget: read as one page, pages of one look at most (the newest), events of one in which its question
 * is looked for, and how many are let go on at once.
 */
export const BUDGET_PAUSED_PAGE_COUNT = 500;
export const BUDGET_PAUSED_PAGES_MAX = 20;
export const BUDGET_RESUMES_AT_ONCE = 16;
/** Period of the look at them, in milliseconds. */
export const BUDGET_ROOM_PERIOD_MS = 1_000;
/** When one that was let go on is looked at again, should rows still have it paused; and one that could not be: ever more seldom. Milliseconds. */
export const BUDGET_RESUME_REST_MS = 5_000;
export const BUDGET_RESUME_RETRY_MS = 1_000;
export const BUDGET_RESUME_RETRY_MAX_MS = 60_000;
/** Largest event, in bytes, header and payload together; the log's own limit applies where it is lower. */
export const EVENT_MAX_BYTES = 1_048_576;
/** Staged checkpoints that may be unflushed at once in one workflow, unless its definition says otherwise. */
export const STAGED_STEPS_DEFAULT_COUNT = 10;
/** Longest time, in milliseconds, that a staged checkpoint stays unflushed, unless its definition says otherwise. */
export const STAGED_DELAY_DEFAULT_MS = 50;
/** Things that one task may wait for, any one of them; and how long a timer may take, in milliseconds: ten years. */
export const WAITS_PER_TASK_MAX = 16;
export const TIMER_MAX_MS = 10 * 366 * 86_400_000;
/** An effect's call may start within this many milliseconds of its intention's acceptance (monotonic clock). */
export const CALL_WINDOW_MS = 5_000;
/** While a task waits for a timer or a signal and others run: period of the holder's look at the log, in milliseconds. */
export const INBOX_LOOK_PERIOD_MS = 250;
/** Partitions whose log is fenced at once before they get rows. */
export const FENCES_AT_ONCE = 256;
/** Records that are looked through at most, to see whether fences are all that a partition holds. */
export const FENCES_FOLDED_MAX = 16;
/** Bytes asked for in one read of a gap or tail. */
export const TAIL_READ_MAX_BYTES = 4_194_304;
/**
 * Period of a worker's beat; how long it counts, and how long while the worker has a standing connection with a coordinator
 * (its event loop is blocked then, or it was stopped); how long the coordinators' marker must have stood. Milliseconds.
 */
export const BEAT_PERIOD_MS = 250;
export const BEAT_TTL_MS = 1_000;
export const BEAT_STALL_MS = 5_000;
export const MARKER_AGE_MS = 2 * BEAT_PERIOD_MS;
/** How long, in milliseconds, a stopping worker waits for its leases to be let go after its drain budget. */
export const HAND_OVER_MAX_MS = 2_000;
/**
 * What is owed to parents and children: served in one look, and at once; when it is served again where rows still owe it, in milliseconds:
 * the first time, and at most, since it doubles for what fails; and pages that a look goes through at most for something that is due.
 */
export const CHILD_DUTIES_COUNT = 2_000;
export const CHILD_DUTIES_AT_ONCE = 32;
export const CHILD_DUTY_RETRY_MS = 2_000;
export const CHILD_DUTY_RETRY_MAX_MS = 60_000;
export const CHILD_DUTY_PAGES_MAX = 10;
/** Period of the look at it, in milliseconds. */
export const CHILD_PERIOD_MS = 1_000;
/** Workflows that are to go on with a fresh history: read as one page, pages of one look at most, and served at once. */
export const CONTINUATIONS_PAGE_COUNT = 500;
export const CONTINUATION_PAGES_MAX = 20;
export const CONTINUATIONS_AT_ONCE = 16;
/** Period of the look at them, in milliseconds. */
export const CONTINUATION_PERIOD_MS = 1_000;
/** When one that can't go on is tried again, in milliseconds: ever more seldom. */
export const CONTINUATION_RETRY_MS = 1_000;
export const CONTINUATION_RETRY_MAX_MS = 60_000;
/** How long who speaks to one that goes on waits for the next, in milliseconds. */
export const CONTINUATION_GRACE_MS = 5_000;
/** Children in one page, at most. */
export const CHILDREN_PAGE_COUNT = 1_000;
/** Open approvals in one page, at most. */
export const APPROVALS_PAGE_COUNT = 100;
/** Time, in milliseconds, that steps under way have to finish once their workflow is cancelled. */
export const CANCEL_GRACE_MS = 10_000;
/** A run that has appended nothing for so long looks whether its workflow was cancelled or paused, in milliseconds. */
export const CONTROL_LOOK_PERIOD_MS = 1_000;
/** Period of a stopping worker's look at the steps that still run, in milliseconds. */
export const DRAIN_LOOK_PERIOD_MS = 50;
/** Weight of the newest attempt in the mean duration of a step, 0..1, and how many steps' durations are remembered. */
export const STEP_DURATION_WEIGHT = 0.2;
export const STEP_DURATIONS_MAX = 10_000;
/** A live holder that doesn't list a folded lease for this long is told to have lost it, in milliseconds. */
export const GHOST_GRACE_MS = 2_000;
/** How old, in milliseconds, what a coordinator last saw of the work may be; looks of both kinds that must miss a workflow before it counts no more; period of the gauges, in milliseconds. */
export const DEMAND_STALE_MS = 15_000;
export const DEMAND_MISSES = 2;
export const DEMAND_TOLD_PERIOD_MS = 2_000;
/** A starting coordinator's looks, but for leases and dispatch, begin after this time, in milliseconds: a store with one session serves in turn. */
export const LOOKS_BEGIN_MS = 250;
/** Period of the coordinators' look at who lives, in milliseconds. */
export const LEASE_CHECK_PERIOD_MS = 250;
/** Of their look at all leases, in milliseconds: for ghosts, and for claims that land after their writer's death, which is acted on at once. */
export const LEASE_LOOK_PERIOD_MS = 1_000;
/** Looks at all that can run, or at all leases, rest so many times what they took, unless what they found were older than this, in milliseconds, at the end of the next. */
export const LOOK_REST = 4;
export const LOOK_AGE_MAX_MS = 10_000;
/** Entries and bytes that one projection batch takes from the log at most. */
export const PROJECTION_ENTRIES_MAX = 8_192;
export const PROJECTION_READ_MAX_BYTES = 8_388_608;
/** From 500 entries a second on they are gathered for longer and longer; rows are so much later at most (see `Gathering`). */
export const PROJECTION_GATHERING = { msPerEntry: 2, maxMs: 20 };
/** Partitions named in one projection read at most. */
export const PROJECTION_PARTITIONS_MAX = 1_024;
/** Folded partitions that a projector keeps in memory. */
export const FOLD_CACHE_PARTITIONS_MAX = 8_192;
/** Slow sweep of all end offsets, which catches lost hints; milliseconds. */
export const SWEEP_PERIOD_MS = 5_000;
/** Time to live and renewal of a projector's ranges, in milliseconds. */
export const RANGE_TTL_MS = 5_000;
export const RANGE_RENEW_PERIOD_MS = 1_000;
/** How old, in milliseconds, what a process knows of held queues may be; and the period of a coordinator's look at them. */
export const QUEUES_KNOWN_MS = 250;
export const QUEUES_PERIOD_MS = 1_000;
/** Queues that may be held, and that are listed, at once. */
export const QUEUES_HELD_MAX_COUNT = 1_000;
/** Of one tenant; and of all tenants together, so that some are always left for those who hold for everybody. */
export const QUEUES_HELD_OF_TENANT_MAX_COUNT = 100;
export const QUEUES_HELD_OF_TENANTS_MAX_COUNT = 900;
export const QUEUES_LISTED_MAX_COUNT = 10_000;

/** Sweep that enqueues runnable workflows again, in case jobs were lost; milliseconds, and how many at once. */
export const REDISPATCH_PERIOD_MS = 2_000;
export const REDISPATCH_PAGE_COUNT = 1_000;
/** Of one definition, sent again by one sweep at most while as many jobs wait as could be lost. */
export const REDISPATCH_DOUBTED_COUNT = 500;
/** Period of the look for due timers, in milliseconds, and how many at once. */
export const TIMER_PERIOD_MS = 100;
export const TIMER_PAGE_COUNT = 500;
/** Pages of one look that hold nothing but what was fired already or can't be. */
export const TIMER_PAGES_MAX = 20;
/** What was fired is fired again where rows still have it after this time; events are the same, and count once. */
export const TIMER_REST_MS = 10_000;
/** First and longest pause before what could not be written is tried again, in milliseconds. */
export const TIMER_RETRY_MS = 100;
export const TIMER_RETRY_MAX_MS = 5_000;
/** Longest wait for writes before the next look, in milliseconds. */
export const TIMER_PATIENCE_MS = 1_000;
/** A placement whose opening isn't known to be in the log is appended again after this many milliseconds. */
export const UNAPPENDED_AGE_MS = 5_000;

/** Undos that may lie in one another: the second is an alert, and instead of a third a person is asked. */
export const COMPENSATION_DEPTH_MAX = 2;
export const COMPENSATION_ALERT_DEPTH = 2;
/** Slow look for workflows that are to be undone, which catches what applied rows didn't tell; and how many it sees at once. */
export const COMPENSATION_PERIOD_MS = 5_000;
export const COMPENSATING_MAX_COUNT = 10_000;
/** An undo that was seen to be under way is looked at again after this many milliseconds, unless its end was told. */
export const UNDO_LOOK_PERIOD_MS = 10_000;
/** Tasks that one look back adds to an undo, and what it lists of the things that stay done. */
export const UNDO_PAGE_COUNT = 200;
export const UNDO_LEFT_MAX_COUNT = 1_000;
/** Longest time that undoing a step may take, in milliseconds; effects have their own. */
export const STEP_UNDO_TIMEOUT_MS = 60_000;

/** How long what was written a moment ago may take to show in the rows: a workflow, a token that is confirmed; milliseconds. */
export const WORKFLOW_GRACE_MS = 2_000;
export const TOKEN_GRACE_MS = 2_000;
/** The same of what a person says of a record that can't be read, whose workflow then goes on. */
export const RECORD_JUDGED_GRACE_MS = 10_000;
/** Events of a workflow that are read to find out what was decided before. */
export const DECISION_EVENTS_MAX_COUNT = 10_000;

/** Starts that go to the store in one placement. */
export const PLACE_BATCH_MAX = 500;
/** The pool of partitions grows by doubling up to this many. */
export const PARTITIONS_MAX = 4_096;

/** Back-off after a server was away: first and longest delay, in milliseconds. */
export const BACKOFF_FIRST_MS = 50;
export const BACKOFF_MAX_MS = 2_000;

/** Failures in a row with the same code after which a step counts as poison and a person is asked. */
export const SAME_FAILURES_MAX = 20;
/** Lines of the stack of a failure that a person is shown. */
export const STACK_LINES_MAX_COUNT = 12;

/** Longest text of an error that is stored, in characters. */
export const ERROR_TEXT_MAX_CHARS = 8_000;
/** Longest code of an error that is stored, in characters. */
export const ERROR_CODE_MAX_CHARS = 200;
/** Longest text of a request that is kept as evidence of a parked workflow, in characters. */
export const EVIDENCE_MAX_CHARS = 64_000;
/** Entries of the execution log that one step may add. */
export const LOG_NOTES_MAX = 1_000;
/** Workflows whose rows one read at a claim covers at most. */
export const CLAIM_BATCH_MAX = 256;
/** Checkpoints in one page of `ctx.outputs`. */
export const OUTPUTS_PAGE_COUNT = 500;
/** Period of the report of the log's growth, in milliseconds. */
export const GROWTH_PERIOD_MS = 60_000;
/** Reads in a row that may show nothing of what the log acknowledged; then the holder gives up. */
export const GAP_EMPTY_READS_MAX = 10;

/** Ids that a preflight names as examples of a group or of a problem. */
export const PREFLIGHT_EXAMPLES_MAX_COUNT = 5;
/** Different problems that a preflight tells of one group; their number must not follow that of the workflows. */
export const PREFLIGHT_PROBLEMS_MAX_COUNT = 20;

/** Raw bytes of the segments whose records a process keeps at hand. */
export const ARCHIVE_CACHE_MAX_BYTES = 48 * 1024 * 1024;
/** Raw bytes that one read of archived records returns, unless its caller says otherwise. */
export const ARCHIVE_READ_MAX_BYTES = 4 * 1024 * 1024;
/** Segments of several partitions that one such read fetches at one moment. */
export const ARCHIVE_READS_AT_ONCE = 8;
/** A segment ends at so many raw bytes or events. */
export const SEGMENT_MAX_BYTES = 16 * 1024 * 1024;
export const SEGMENT_MAX_EVENTS = 50_000;
/** What may be archived waits until it comes to so many raw bytes, or its oldest event is so much older than the hot window. */
export const SEGMENT_MIN_BYTES = 1024 * 1024;
export const SEGMENT_WAIT_MAX_MS = 86_400_000;
/** Bytes of one read of the log by the compactor. */
export const COMPACTOR_READ_MAX_BYTES = 4 * 1024 * 1024;
/** Partitions that a compactor has under way at once: each holds a segment's records, and the file of them. */
export const COMPACTOR_PARTITIONS_AT_ONCE = 2;
/** Pause between two passes of the compactor, in milliseconds. */
export const COMPACTOR_PERIOD_MS = 60_000;
/** Clocks of compactor and store that differ by more, in milliseconds, archive and delete nothing. */
export const CLOCKS_APART_MAX_MS = 60_000;
/** Rows that were put back from segments go again after this many milliseconds; so many workflows in one transaction. */
export const RESTORED_ROWS_KEPT_MS = 86_400_000;
export const RESTORED_ROWS_PAGE_COUNT = 100;
/** Pause between two looks through a partition's segments for objects that no manifest names, in milliseconds. */
export const ORPHANS_LOOK_MS = 86_400_000;
/** Segments that are read from the store's index at once. */
export const SEGMENTS_PAGE_COUNT = 500;
/** Segments of one workflow whose rows are put back. */
export const WORKFLOW_SEGMENTS_MAX_COUNT = 100_000;
/** Times in a row that a read may find the log trimmed beyond what it saw before. */
export const READS_BETWEEN_TRIMS_MAX = 10;
/** Times that one read puts back rows which a compactor takes away again. */
export const RESTORES_PER_READ_MAX = 5;
/** Forks of forks that share one history: a read of it asks for each. */
export const FORK_DEPTH_MAX = 32;
/** Histories that are looked through for answers of people before a fork of them calls effects again. */
export const FORK_HISTORIES_MAX_COUNT = 1_000;
/** Bytes of one read of a workflow's history from log and segments. */
export const HISTORY_READ_MAX_BYTES = 4 * 1024 * 1024;
/** What a record is likely to take beside what it says; and records that are read with two that they lie between. */
export const RECORD_LIKELY_BYTES = 2 * 1024;
export const RECORDS_BETWEEN_MAX = 32;
/** Times that others may move the index of keys while one process catches it up, before that one gives up. */
export const INDEX_MOVES_MAX = 100;
/** Legal holds that one tenant may have. */
export const HOLDS_MAX_COUNT = 10_000;
/** Data keys that a process holds unwrapped, the last used. */
export const DATA_KEYS_MAX_COUNT = 10_000;
/** Longest time, in milliseconds, that one is used without asking again; so long a process may go on with one that another destroyed. */
export const DATA_KEY_AGE_MAX_MS = 300_000;
/** So long nobody asks again for a key that isn't there, in milliseconds: many records may name one that was destroyed. */
export const DATA_KEY_ABSENT_MS = 5_000;
/** Keys that a process looks for, asks for or stores together: what is wanted while one question is under way goes with the next. */
export const DATA_KEYS_AT_ONCE = 500;
/** Keys that a rotation stores together, and calls of the provider that it has under way at once. */
export const REWRAP_BATCH_COUNT = 100;
export const REWRAPS_AT_ONCE = 8;
/** Keys that a rotation names because they can't be unwrapped, the first; the others are counted. */
export const REWRAP_WRONG_TOLD_MAX = 100;
/** Keys that are destroyed together. */
export const KEYS_DESTROYED_AT_ONCE = 500;
/** Workflows of which a process remembers the id of their data key. */
export const WORKFLOW_KEYS_MAX_COUNT = 20_000;
/** Open workflows of a user that are named when they keep it from being forgotten; the others are counted. */
export const FORGET_OPEN_TOLD_MAX = 20;
/** Workflows of a user that are read at once. */
export const FORGET_WORKFLOWS_PAGE_COUNT = 500;
/** Memories that one page of forgetting a user reads and writes. */
export const FORGET_PAGE_COUNT = 50;
/** Longest wait of a compactor for rows to show that a segment is to be deleted; until they do it stays. */
export const DELETION_TOLD_MAX_MS = 30_000;
/** Forks of one workflow that are looked at before it is forgotten. */
export const FORKS_READ_MAX_COUNT = 10_000;

/** Largest event where payloads may be in blobs, in bytes, header and payload together; what is larger is refused. */
export const BLOB_EVENT_MAX_BYTES = 64 * 1024 * 1024;
/** Blobs that one process puts or gets at once. */
export const BLOBS_AT_ONCE = 8;
/** Bytes of blobs that one read of the log gets, unless its caller says otherwise; the first one it gets in any case. */
export const BLOB_READ_MAX_BYTES = 64 * 1024 * 1024;
/** What was put or read so lately, in milliseconds, is not put again; so many digests are remembered. */
export const BLOB_KNOWN_MS = 600_000;
export const BLOBS_KNOWN_MAX_COUNT = 10_000;
/** What was put longer ago is put again before and after its name is stored, in milliseconds: far less than a sweep's period. */
export const BLOB_FRESH_MS = 3_600_000;
/** Pause between two sweeps of blobs, in milliseconds; one goes for good when three sweeps found nothing that refers to it. */
export const BLOB_SWEEP_PERIOD_MS = 86_400_000;
/** Pause between two looks whether a sweep is due, in milliseconds. */
export const BLOB_SWEEP_LOOK_MS = 600_000;
/** Texts of rows that name blobs, read at once. */
export const BLOB_REFERENCES_PAGE_COUNT = 5_000;

/** Partitions that a rebuild folds before it takes away rows of what segments have. */
export const REBUILD_PARTITIONS_AT_ONCE = 256;
/** Partitions whose manifests it reads at one moment, before it folds them. */
export const REBUILD_INDEXED_AT_ONCE = 8;
/** Longest that a rebuild keeps writers waiting to catch up with them, in milliseconds, and how often it tries. */
export const REBUILD_MEET_MAX_MS = 3_000;
export const REBUILD_MEETINGS_MAX = 20;
/** Pause between two looks at where new rows stand, in milliseconds: whoever wrote them may not have heard of it. */
export const REBUILD_LOOK_MS = 500;
/** How often a rebuild begins anew since it found openings elsewhere than rows said. */
export const REBUILD_PLACINGS_MAX = 5;
/** Pause between two looks for history that was recalled, in milliseconds, and objects that are asked for at once. */
export const RECALL_LOOK_MS = 60_000;
export const RECALLS_AT_ONCE = 16;
/** Pause between two looks at what history takes, in milliseconds: each reads the lengths of all rows. */
export const STORAGE_LOOK_MS = 3_600_000;
/** The largest tenants and workflows, of which metrics tell. */
export const STORAGE_TENANTS_MAX_COUNT = 1_000;
export const STORAGE_WORKFLOWS_MAX_COUNT = 20;

/** Limits of concurrency and rate that one workflow may be under. */
export const DISPATCH_LIMITS_MAX_COUNT = 8;
/** Characters of the key of such a limit. */
export const LIMIT_KEY_MAX_CHARS = 200;
/** Workflows of one key at work at once, at most. */
export const LIMIT_CONCURRENCY_MAX_COUNT = 100_000;
/** Workflows of one key that begin in a period, at most: a queue remembers when each began. */
export const LIMIT_RATE_MAX_COUNT = 1_000;
/** Longest period of a rate: seven days. */
export const LIMIT_RATE_PERIOD_MAX_MS = 7 * 24 * 60 * 60 * 1_000;

/** In a pool that can't grow, this share of its partitions, and at most so many, are for tenants that have few. */
export const NEWCOMER_PARTITIONS_SHARE = 1 / 16;
export const NEWCOMER_PARTITIONS_MAX = 64;
/** When one whose start was refused for want of room may try again, in milliseconds. */
export const ADMISSION_RETRY_AFTER_MS = 1_000;

/** Characters of a schedule's cron pattern. */
export const CRON_MAX_CHARS = 200;
/** Missed slots that a schedule may make up for. */
export const CATCH_UP_MAX_COUNT = 1_000;
/** Missed slots that are counted one by one; of more it is known that there are as many at least. */
export const SCHEDULE_SCAN_MAX_COUNT = 2_000;
/** A slot that begins within so many milliseconds is in time; later it is missed. */
export const SCHEDULE_GRACE_MS = 60_000;
/** Period of the look whether the run has ended that a slot waits for: first, and at most, in milliseconds. */
export const SCHEDULE_POLL_MIN_MS = 1_000;
export const SCHEDULE_POLL_MAX_MS = 60_000;
/** Characters of a schedule's id: the slot's time follows it in those of its runs. */
export const SCHEDULE_ID_MAX_CHARS = 170;

/** Workflows that a bulk job looks up in one go, and those that it asks at once. */
export const BULK_PAGE_COUNT = 200;
export const BULK_AT_ONCE_COUNT = 16;
/** Workflows that are counted in one go before a bulk job begins, and those of them that are named. */
export const BULK_COUNT_PAGE_COUNT = 5_000;
export const BULK_COUNT_SHOWN_COUNT = 5;
/** Workflows that refused, of which a bulk job tells why. */
export const BULK_PROBLEMS_MAX_COUNT = 100;

/** A coordinator with more appended events than these that its own partitions' rows don't show is not ready. */
export const READY_LAG_MAX_EVENTS = 50_000;
/** What a coordinator knows of its lag counts for so long, in milliseconds: a few sweeps. */
export const READY_LAG_KNOWN_MS = 3 * SWEEP_PERIOD_MS;
/** A compactor whose passes have failed for so long, in milliseconds, is not ready. */
export const READY_COMPACTION_FAILING_MS = 2 * COMPACTOR_PERIOD_MS;
/** A duty that hasn't moved for so long, in milliseconds, is given up: far more than the longest wait for a server that is away. */
export const DUTY_UNMOVED_MAX_MS = 600_000;
/** Workflows at which another release stopped, in one page of a look for them. */
export const PASSED_OVER_PAGE_COUNT = 1_000;
/** Period of a coordinator's count of what waits for a person, in milliseconds; so many reasons are asked for, and so many told apart. */
export const PARKED_LOOK_PERIOD_MS = 15_000;
export const PARKED_REASONS_READ_MAX = 1_000;
export const PARKED_REASONS_MAX = 20;
