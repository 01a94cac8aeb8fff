/** Owns every limit of this library, with units and defaults. */

/** Entries that a recall returns by default. */
export const RECALL_LIMIT = 3;
/** Longest wait for the embedding of a query; then words decide alone. */
export const RECALL_EMBED_TIMEOUT_MS = 2_000;
/** Characters of a query that are used; the rest is cut. */
export const QUERY_MAX_CHARS = 8_000;
/** Texts that the indexer embeds at once. Overridden by `batchSize`. */
export const INDEX_BATCH = 32;
/** One in this many runs of the indexer starts from the beginning, to find entries that were written out of order. */
export const INDEX_SWEEP_RUNS = 100;
/** Texts that the local model takes at once; an abort takes effect between batches. */
export const LOCAL_BATCH = 8;
/** Longest time for one part of the local model's installation. */
export const INSTALL_TIMEOUT_MS = 600_000;
/** Characters of a text that are embedded; models read less. */
export const EMBEDDED_MAX_CHARS = 20_000;
/** Entries of one list of a rule-based summary. */
export const SUMMARY_ITEMS_MAX = 12;
/** Characters of one entry of a summary. */
export const SUMMARY_ITEM_MAX_CHARS = 300;
/** Entries of one list that are accepted from a model's summary. */
export const MODEL_ITEMS_MAX = 40;
/** Objects in an answer that are tried as a summary, each read to its end. */
export const MODEL_OBJECTS_TRIED_MAX = 32;
/** Characters of a model's answer that are parsed as a summary. */
export const MODEL_SUMMARY_MAX_CHARS = 200_000;
/** Characters of a continuation context. Overridden by `maxChars`. */
export const CONTINUATION_MAX_CHARS = 4_000;
/** Characters of the user context of a session: its user, domains and tenant. Overridden by `maxChars`. */
export const USER_CONTEXT_MAX_CHARS = 2_000;
/** What the newest fact gains over an old one, where the best match gains 1; and the half-life of that gain. */
export const FACT_AGE_WEIGHT = 0.1;
export const FACT_HALF_LIFE_MS = 30 * 24 * 60 * 60 * 1_000;
/** Characters of one fact. */
export const FACT_MAX_CHARS = 4_000;
/** Characters of the key of a preference. */
export const STATE_KEY_MAX_CHARS = 200;
/** Bytes of the JSON of one preference. */
export const STATE_VALUE_MAX_BYTES = 16 * 1024;
/** Entries that one list returns. */
export const LIST_MAX = 1_000;
