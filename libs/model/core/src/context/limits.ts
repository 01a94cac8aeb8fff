/** Owns the named limits and defaults of context assembly, each with its unit. Must hold no behaviour. */

/** What a provider spends on a message beyond its text: its role and delimiters (3 to 4 with OpenAI's chat format). */
export const MESSAGE_OVERHEAD_TOKENS = 4;
/** What an image costs, and any other file at least: the most that a provider counts for a picture in full detail. */
export const FILE_TOKENS = 1_600;
/** Bytes of a file that is no image for each of its tokens. */
export const FILE_BYTES_PER_TOKEN = 8;
/** What joining one text to another costs: the line break, and one more for a token that the break splits. */
export const JOIN_OVERHEAD_TOKENS = 2;
/** Characters of a text that is counted as one. A longer one is counted in pieces, so that counting can end once it is known not to fit. */
export const WHOLE_MAX_CHARS = 65_536;
export const PIECE_MAX_CHARS = 16_384;
/** Tokens of one message, call or result in the prompt for a summary. */
export const SUMMARY_TEXT_MAX_TOKENS = 2_000;
