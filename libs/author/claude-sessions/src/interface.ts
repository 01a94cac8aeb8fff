/**
 * Owns the shapes of the framework's interface for stores of sessions, as `sdk.d.ts` of @anthropic-ai/claude-agent-sdk 0.3.332 declares them.
 * They are written here because that package brings the whole agent as a program of each platform; its own types fit these.
 */

export interface SessionKey {
  /** A scope of the caller's; by default the working folder's path. */
  readonly projectKey: string;
  readonly sessionId: string;
  /** Of a subagent's transcript; absent: the main one. */
  readonly subpath?: string | undefined;
}

/** A line of a transcript: any JSON. Those of the conversation have a `uuid`. */
export interface SessionStoreEntry {
  type: string;
  uuid?: string;
  timestamp?: string;
  [name: string]: unknown;
}

/** What a listing shows of a session. `data` is the framework's own. */
export interface SessionSummaryEntry {
  sessionId: string;
  mtime: number;
  data: Record<string, unknown>;
}

/** The framework's `foldSessionSummary`. */
export type FoldSessionSummary = (
  before: SessionSummaryEntry | undefined,
  key: SessionKey,
  entries: SessionStoreEntry[],
  options?: { mtime?: number },
) => SessionSummaryEntry;

export interface SessionStore {
  append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void>;
  load(key: SessionKey): Promise<SessionStoreEntry[] | null>;
  listSessions?(projectKey: string): Promise<{ sessionId: string; mtime: number }[]>;
  listSessionSummaries?(projectKey: string): Promise<SessionSummaryEntry[]>;
  delete?(key: SessionKey): Promise<void>;
  listSubkeys?(key: { readonly projectKey: string; readonly sessionId: string }): Promise<string[]>;
}
