/** The entry point of @tidemark/secrets. */

export { withoutCredentials } from './address-credentials.ts';
export { EchoMask } from './echo-mask.ts';
export {
  type FoundSecret,
  findSecrets,
  type IsExempt,
  isGuess,
  isUnsearched,
  maskedValue,
  maskSecrets,
  secretPlaces,
} from './find-secrets.ts';
export { PATTERNS } from './patterns.ts';
