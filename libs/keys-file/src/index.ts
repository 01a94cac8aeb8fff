/** The door of @tidemark/keys-file. */

export { type FileKeysOptions, openFileKeys, rotateFileKeys } from './file-keys.ts';
