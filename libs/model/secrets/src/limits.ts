/** Owns the limits of the search for secrets. */

/** Characters of a token whose entropy is judged: a shorter one may be a word, a longer one is data. */
export const TOKEN_MIN_CHARS = 20;
export const TOKEN_MAX_CHARS = 512;
/** Characters of a token that may have a known form: the shortest form, names aside, has this many. */
export const LONG_MIN_CHARS = 15;
/** Bits a character above which a token may be random: English words joined to a name have about 3.3. */
export const ENTROPY_MIN_BITS = 3.4;
/** Mean run of characters in one case or of digits, at most: names have about 5, random base62 less than 2. */
export const PIECE_MAX_CHARS = 2.9;
/** Characters of a password that only its name declares. */
export const NAMED_MIN_CHARS = 6;
/** Characters of a value with a digit after the name of a password. */
export const PIN_MIN_CHARS = 4;
/** Characters of a value with letters and digits after the name of a token. */
export const TOKEN_NAMED_MIN_CHARS = 8;
/** Levels of nesting that are searched; deeper data is a find of its own. */
export const DEPTH_MAX = 200;
/** Places that a message names; the others are counted. */
export const PLACES_REPORTED_MAX = 5;
/** Mean characters between the joints (`-`, `_`, `.`) of a random token; a name has more joints. */
export const PART_MEAN_CHARS = 6;
/** Characters that one search reads, keys included; the rest is not searched, and is a find of its own. */
export const SEARCH_MAX_CHARS = 4 * 1_024 * 1_024;
/** What each value counts besides its own characters, and each text that is matched against all patterns. */
export const SEARCH_VALUE_CHARS = 4;
export const SEARCH_TEXT_CHARS = 64;
/** A shorter text without spaces, `=` and `:` has no known form. */
export const FORM_MIN_CHARS = 15;
/** Most finds of one search. */
export const FOUND_MAX_COUNT = 1_000;
/** Characters of a key that a place shows. */
export const PLACE_KEY_MAX_CHARS = 128;
/** Characters at the end of a name that decide whether its value is a secret: the longest such word is shorter. */
export const NAME_END_CHARS = 32;
/** Shortest secret that is masked in an echo: a shorter one would mask half of every text. */
export const ECHO_MIN_CHARS = 6;
/** Levels of nesting that are masked: deeper data is stored nowhere. */
export const ECHO_DEPTH_MAX = 1_000;
/**
 * Characters of secrets that are compared with one text: this many for each of its own, plus a minimum. A text that would need more is
 * masked whole.
 */
export const ECHO_WORK_FACTOR = 64;
export const ECHO_WORK_MIN_CHARS = 1_048_576;
/** Names of members whose judgement is cached. */
export const NAMES_KEPT_COUNT = 1_024;
