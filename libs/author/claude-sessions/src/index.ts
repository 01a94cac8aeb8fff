export type { SessionKey, SessionStore, SessionStoreEntry } from './interface.ts';
export { type SessionStoreOptions, TidemarkSessionStore, type Waiting } from './session-store.ts';
