/** The door of the room: what other rooms of the engine use of it. */
export { type BlobStores, Blobs } from './blobs.ts';
export { EVENT_MAX_BYTES } from './limits.ts';
export { type Prepared, PreparedLog } from './prepared-log.ts';
export type { Turn } from './row-texts.ts';
export { type Owners, type Turning, turnedStore } from './turned-store.ts';
