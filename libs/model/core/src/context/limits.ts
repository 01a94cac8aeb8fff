/** Owns the named limits and defaults of context assembly, each with its unit. Must hold no behaviour. */

/** What a provider spends on a message beyond its text: its role and delimiters (3 to 4 with OpenAI's chat format). */
export const MESSAGE_OVERHEAD_TOKENS = 4;
/** What a provider spends on a tool call or result beyond its message, its name and its text. */
export const CALL_OVERHEAD_TOKENS = 8;
/** What a provider spends once, on the start of the answer. */
export const ANSWER_OVERHEAD_TOKENS = 3;
/** What joining one text to another costs: the line break, and one more for a token that the break splits. */
export const JOIN_OVERHEAD_TOKENS = 2;

/** Entries of the trace that a bundle shows singly; older ones are counted by step. */
export const TRACE_ENTRIES_DEFAULT = 10;
/** Characters of one action in the trace. */
export const TRACE_ACTION_MAX_CHARS = 300;

/** Characters of one decision or question in a rule-based summary. */
export const SUMMARY_LINE_MAX_CHARS = 240;
/** Tools that a rule-based summary names, the most used first. */
export const SUMMARY_TOOLS_MAX_COUNT = 8;
/** The least room for a rule-based summary. Its first line, which says what it covers, must fit. */
export const SUMMARY_MIN_TOKENS = 128;
