/** The door of the room: what other rooms of the engine use of it. */
export { MARKER_AGE_MS } from './limits.ts';
