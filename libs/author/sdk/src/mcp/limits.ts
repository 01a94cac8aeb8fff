/** Owns the limits on what a server of MCP may list and answer, each with its unit: it may be anybody's. Must hold no behaviour. */

/** Time that one page of a listing may take, in milliseconds. */
export const LISTING_TIMEOUT_MS = 30_000;
/** Pages of one listing, and tools of one definition. */
export const PAGES_MAX_COUNT = 1_000;
export const TOOLS_MAX_COUNT = 512;
/** Characters of a tool's own name, of its description (which is cut), and of its schema as JSON, given and published. */
export const LISTED_NAME_MAX_CHARS = 256;
export const LISTED_DESCRIPTION_MAX_CHARS = 4_096;
export const LISTED_SCHEMA_MAX_CHARS = 131_072;
/** Parts of a result that are read, and characters that are recorded of its text and of its structured content. */
export const RESULT_PARTS_MAX_COUNT = 1_000;
export const RESULT_MAX_CHARS = 262_144;
