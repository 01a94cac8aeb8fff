/** The door of the room: what other rooms of the engine use of it. */
export { RANGE_RENEW_PERIOD_MS, RANGE_TTL_MS } from './limits.ts';
