export type {
  FoldSessionSummary,
  SessionKey,
  SessionStore,
  SessionStoreEntry,
  SessionSummaryEntry,
} from './interface.ts';
export { type SessionStoreOptions, TidemarkSessionStore, type Waiting } from './session-store.ts';
