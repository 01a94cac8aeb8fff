/** Entry point of @tidemark/keys-transit. */

export { openTransitKeys, type TransitKeysOptions } from './transit-keys.ts';
export type { TransitToken } from './transit-token.ts';
