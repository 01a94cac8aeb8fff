/** Owns the limits of what is read to judge a state folder, with units. */

/** Longest index of a git repository that is read; a million files have about 120 MB. */
export const GIT_INDEX_MAX_BYTES = 256 * 1024 * 1024;
/** Longest `.git` file, which names another folder, and longest settings of a repository that are looked into. */
export const GIT_FILE_MAX_BYTES = 4_096;
/** Most files and folders below `log` and below `rows` whose owner and mode are read; the rows have about 1,200, and one more for each GB. */
export const STATE_FILES_MAX_COUNT = 50_000;
