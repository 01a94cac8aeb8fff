/** The entry point of the room: what other rooms of the engine may use. */
export { MARKER_AGE_MS } from './limits.ts';
