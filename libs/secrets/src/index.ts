/** The door of @tidemark/secrets. */

export { type FoundSecret, findSecrets, maskSecrets, secretsTold } from './find-secrets.ts';
