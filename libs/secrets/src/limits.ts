/** Owns the limits of the search for secrets. */

/** Characters of a token that is judged by its entropy: a shorter one may be a word, a longer one is data. */
export const TOKEN_MIN_CHARS = 20;
export const TOKEN_MAX_CHARS = 512;
/** Bits a character, from which on a token may be random: English words joined to a name have about 3.3. */
export const ENTROPY_MIN_BITS = 3.4;
/** Characters that stand together in one case or as digits: names have about 5, random base62 less than 2. */
export const PIECE_MAX_CHARS = 2.9;
/** Characters that a password must have when only its name tells of it. */
export const NAMED_MIN_CHARS = 6;
/** The same where it is after the name of a password, and has a digit. */
export const PIN_MIN_CHARS = 4;
/** Levels of nesting that are looked at; deeper data is told as a find of its own, since nobody has seen it. */
export const DEPTH_MAX = 200;
/** Places that are named in a message; the others are counted. */
export const PLACES_TOLD_MAX = 5;
/** Characters between the joints (`-`, `_`, `.`) of a random token, on the average; a name has more joints. */
export const PART_MEAN_CHARS = 6;
