/** The entry point of the room: what other rooms of the engine may use. */
export { Blobs } from './blobs.ts';
export { inTurns, type LogLimits, type RecordEncoding } from './encoded-log.ts';
export { EVENT_MAX_BYTES } from './limits.ts';
export { LogView } from './log-view.ts';
export type { TransformText } from './row-texts.ts';
export { type ContentTransform, type Owners, transformedStore } from './transformed-store.ts';
