/** Entry point of @tidemark/keys-file. */

export { FILE_KEYS, type FileKeysOptions, openFileKeys, rotateFileKeys } from './file-keys.ts';
