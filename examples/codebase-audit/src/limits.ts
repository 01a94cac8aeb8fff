// Owns every bound of the audit, with its unit and its reason. Nothing else in this example carries a magic number for a size.
// What a bound cuts away is always counted beside what was kept, so that a report never looks more complete than it is.

/** Larger files are recorded as skipped: they are nearly always bundles or generated tables. */
export const MAX_FILE_BYTES = 2 * 1024 * 1024;
/** Source files taken from one tree; the rest is counted as `filesCut`. */
export const MAX_FILES = 100_000;
/** Records of skipped entries kept in a discovery; the rest is only counted. */
export const MAX_SKIPPED_RECORDS = 1_000;
/** One page of a discovery: files, and bytes of paths and manifest facts. Each becomes one event of the log with a task for
 * every file, and an event holds at most 1 MiB. It also bounds how many tasks are pending at once. */
export const MAX_PAGE_FILES = 1_000;
export const MAX_PAGE_BYTES = 256 * 1024;
/** Facts of one manifest; one with more is recorded as skipped. */
export const MAX_PACKAGE_FACTS_BYTES = 128 * 1024;
/** A package.json or tsconfig.json above this is not read. */
export const MAX_MANIFEST_BYTES = 1024 * 1024;
/** Entry points and path mappings kept per package. */
export const MAX_MANIFEST_ENTRIES = 500;

/** Bracket nesting above which a file is not parsed. The native parser's recursion ends the process at about 5,000 on a stack
 * of 8 MB, and at half of that in a worker thread. */
export const MAX_NESTING_DEPTH = 1_000;
/** Words, operators and brackets of one statement above which a file is not parsed: a chain nests once per link or two. */
export const MAX_CHAIN_TOKENS = 2_500;
/** Recursion of the must-call analysis; what lies deeper counts as "calls nothing". */
export const MAX_ANALYSIS_DEPTH = 400;
/** Steps when an identifier is followed through `const` aliases. */
export const MAX_ALIAS_STEPS = 8;

/** Kept per file, so that the facts of one file stay small enough for a checkpoint. */
export const MAX_FINDINGS_PER_FILE = 50;
export const MAX_IMPORTS_PER_FILE = 1_000;
export const MAX_NAMES_PER_IMPORT = 200;
export const MAX_EXPORTS_PER_FILE = 500;
export const MAX_CALL_LINKS_PER_FILE = 200;
export const MAX_PARSE_ERRORS_PER_FILE = 3;
/** JSON of all facts of one file: the output of one task, which must fit into an event. */
export const MAX_FACTS_BYTES = 512 * 1024;
export const MAX_EVIDENCE_CHARS = 120;
export const MAX_MESSAGE_CHARS = 200;
/** Longer specifiers and names (data URLs, mangled symbols) are shortened. */
export const MAX_NAME_CHARS = 200;

/** Rows of each table of the Markdown report; the JSON report has all of them. */
export const MAX_REPORT_ROWS = 200;
/** Files shown of one import cycle in Markdown. */
export const MAX_CYCLE_FILES_SHOWN = 12;

/** Modules that a model is asked about, the largest first, and bytes of their prompts: they are added in one event. */
export const MAX_SUMMARIES = 40;
export const MAX_PROMPTS_BYTES = 512 * 1024;
/** Prompt of one module summary, in UTF-16 units (about a quarter as many tokens). */
export const MAX_PROMPT_CHARS = 12_000;
export const MAX_SUMMARY_TOKENS = 400;
export const SUMMARY_TIMEOUT_MS = 60_000;
/** Times that one summary is asked for; then the report does without it. */
export const MAX_SUMMARY_ATTEMPTS = 4;
/** Characters of a model's answer kept in the report. */
export const MAX_SUMMARY_CHARS = 2_000;

/** Files of one audit under way at the same time: their checkpoints share a write to the disk, and a process that dies leaves at
 * most so many unfinished. */
export const PARALLEL_FILES = 16;
/** Threads that parse; fewer where the machine has fewer cores. */
export const MAX_THREADS = 4;

/** Time that files under way have to finish after Ctrl-C, in milliseconds. */
export const DRAIN_MS = 5_000;
/** A second Ctrl-C counts from here on, in milliseconds: npm passes the first one on once more. */
export const SECOND_INTERRUPT_MS = 300;
/** Period, in milliseconds, of a look at the checkpoints that no hint told of, and the shortest pause between two looks. */
export const POLL_PERIOD_MS = 250;
export const POLL_PAUSE_MS = 50;
/** Checkpoints read in one look. */
export const POLL_PAGE_COUNT = 1_000;
/** Without a checkpoint for so many milliseconds, people are told what may be missing. */
export const STALL_NOTICE_MS = 5_000;
/** Where the output is no terminal: a line at least every so many percent, and milliseconds. */
export const LINE_EVERY_PERCENT = 5;
export const LINE_EVERY_MS = 10_000;
/** A run that has gone on for so long is shown by the console, in milliseconds: shorter ones are over before anybody looks. */
export const CONSOLE_AFTER_MS = 1_500;
/** Other unfinished audits in the same state that are named. */
export const MAX_OTHERS_SHOWN = 5;
