/** The door of @tidemark/secrets. */

export { withoutCredentials } from './address-credentials.ts';
export { type FoundSecret, findSecrets, maskSecrets, secretsTold } from './find-secrets.ts';
export { PATTERNS } from './patterns.ts';
