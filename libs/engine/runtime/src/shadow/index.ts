/** The entry point of the room: what other rooms of the engine may use. */
export { RecordedStreams } from './recorded-stream.ts';
export { ShadowRun } from './shadow-run.ts';
export type { ShadowRoute } from './shadow-share.ts';
export { type ShadowOptions, Shadows } from './shadows.ts';
