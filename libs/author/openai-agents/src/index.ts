export { type SessionOptions, TidemarkSession } from './session.ts';
