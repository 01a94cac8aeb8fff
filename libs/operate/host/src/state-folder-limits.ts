/** Owns the limits of what is read to judge a state folder, with units. */

/** Longest index of a git repository that is read; a million files have about 120 MB. */
export const GIT_INDEX_MAX_BYTES = 256 * 1024 * 1024;
/** Longest `.git` file, which names another folder. */
export const GIT_FILE_MAX_BYTES = 4_096;
