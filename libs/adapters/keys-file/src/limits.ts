/** Owns the limits of the key file: name, unit and why. */

/** Largest key file that is read, in bytes: thousands of rotations. A larger file is no key file. */
export const KEY_FILE_MAX_BYTES = 1024 * 1024;
