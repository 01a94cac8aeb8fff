/** The entry point of the room: what other rooms of the engine may use. */
export { RANGE_RENEW_PERIOD_MS, RANGE_TTL_MS } from './limits.ts';
