/** Owns the limits of the search for secrets. */

/** Characters of a token that is judged by its entropy: a shorter one may be a word, a longer one is data. */
export const TOKEN_MIN_CHARS = 20;
export const TOKEN_MAX_CHARS = 512;
/** Characters of a token that may hold a known form: the shortest that all of them but names have. */
export const LONG_MIN_CHARS = 15;
/** Bits a character, from which on a token may be random: English words joined to a name have about 3.3. */
export const ENTROPY_MIN_BITS = 3.4;
/** Characters that stand together in one case or as digits: names have about 5, random base62 less than 2. */
export const PIECE_MAX_CHARS = 2.9;
/** Characters that a password must have when only its name tells of it. */
export const NAMED_MIN_CHARS = 6;
/** The same where it is after the name of a password, and has a digit. */
export const PIN_MIN_CHARS = 4;
/** The same after the name of a token, with letters and digits. */
export const TOKEN_NAMED_MIN_CHARS = 8;
/** Levels of nesting that are looked at; deeper data is told as a find of its own, since nobody has seen it. */
export const DEPTH_MAX = 200;
/** Places that are named in a message; the others are counted. */
export const PLACES_REPORTED_MAX = 5;
/** Characters between the joints (`-`, `_`, `.`) of a random token, on the average; a name has more joints. */
export const PART_MEAN_CHARS = 6;
/** Characters of one search, keys among them: what lies behind is not looked at, and told as a find of its own. */
export const SEARCH_MAX_CHARS = 4 * 1_024 * 1_024;
/** What each value costs of these beside its own characters, and what each text does that all patterns are held against. */
export const SEARCH_VALUE_CHARS = 4;
export const SEARCH_TEXT_CHARS = 64;
/** A shorter text without spaces, `=` and `:` is no secret by its form. */
export const FORM_MIN_CHARS = 15;
/** Finds that one search tells, at most. */
export const FOUND_MAX_COUNT = 1_000;
/** Characters of a key that a place tells. */
export const PLACE_KEY_MAX_CHARS = 128;
/** Characters at the end of a name that say whether its value is a secret: the longest such word has fewer. */
export const NAME_END_CHARS = 32;
/** Shortest secret that is masked where it comes back from outside: a shorter one would mask half of every text. */
export const ECHO_MIN_CHARS = 6;
/** Levels of nesting in which it is masked: deeper data is stored nowhere. */
export const ECHO_DEPTH_MAX = 1_000;
/** Characters of secrets that are compared with one text: so many for each of its own, and these besides. A text that would take more is masked whole. */
export const ECHO_WORK_FACTOR = 64;
export const ECHO_WORK_MIN_CHARS = 1_048_576;
/** Names of members whose judgement is remembered. */
export const NAMES_KEPT_COUNT = 1_024;
