/** The entry point of @tidemark/secrets. */

export { EchoMask } from './echo-mask.ts';
export {
  type FoundSecret,
  findSecrets,
  holdsMark,
  isGuess,
  isUnsearched,
  maskedValue,
  maskSecrets,
  secretPlaces,
  withoutCredentials,
} from './find-secrets.ts';
export { PATTERNS } from './patterns.ts';
