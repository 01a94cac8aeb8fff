/**
 * Owns the framework's store of sessions over Tidemark. A session is a stream that no worker claims, written by one host at a time.
 *
 * S1 A batch that was taken is dropped only with its process: while the log is unavailable it waits, in its place, and is tried again.
 */

import { type Json, keepLast, LimitError, UnavailableError } from '@tidemark/core';
import {
  checkedStreamName,
  plainJson,
  type RecordedHost,
  RecordedNames,
  type RecordedStream,
  type RecordedWriter,
  refuseUnknownOptions,
  type StreamEntry,
  sha256Digest,
  withinEntry,
} from '@tidemark/runtime';
import type {
  FoldSessionSummary,
  SessionKey,
  SessionStore,
  SessionStoreEntry,
  SessionSummaryEntry,
} from './interface.ts';
import {
  areBeside,
  hasMain,
  linesAdded,
  linesIn,
  linesOf,
  MAIN,
  subpathsIn,
  summaryIn,
  transcriptDropped,
} from './transcripts.ts';

/** Bytes of batches that wait, of all sessions of a store. */
const WAITING_MAX_BYTES = 64 * 1024 * 1024;
/** Sessions that a store remembers; of an older one the next append follows whatever is there. */
const SESSIONS_MAX_COUNT = 10_000;

/** What waits for the log. */
export interface Waiting {
  readonly batchCount: number;
  readonly bytes: number;
}

export interface SessionStoreOptions {
  /** Whose the sessions are; of an ordinary installation when absent. */
  readonly tenant?: string | undefined;
  /** Under which lists show them, and by which their streams' ids begin: 1 to 40 of a to z, 0 to 9 and '-'. Default: claude-sessions. */
  readonly name?: string | undefined;
  /** The framework's `foldSessionSummary`: with it each append keeps what a listing shows, so that a listing loads no session. */
  readonly foldSummary?: FoldSessionSummary | undefined;
  /** Most bytes that wait while the log is unavailable; further batches are refused. Default: 64 MB. */
  readonly waitingMaxBytes?: number | undefined;
  /** Hears that the log is unavailable, at each attempt. By default the process warns, once for each outage. */
  readonly onUnavailable?: (waiting: Waiting, error: UnavailableError) => void;
}

interface Session {
  readonly writer: RecordedWriter;
  /** Batches in the order in which they came. */
  turn: Promise<unknown>;
}

export class TidemarkSessionStore implements SessionStore {
  readonly #names: RecordedNames;
  readonly #foldSummary: FoldSessionSummary | undefined;
  readonly #waitingMaxBytes: number;
  readonly #onUnavailable: (waiting: Waiting, error: UnavailableError) => void;
  readonly #sessions = new Map<string, Session>();
  readonly #closing = new AbortController();
  readonly #batches = new Set<Promise<void>>();
  /** Absent without `foldSummary`: the framework then loads each session of a listing. */
  readonly listSessionSummaries?: (projectKey: string) => Promise<SessionSummaryEntry[]>;
  #waitingBytes = 0;
  #isWarned = false;

  /** Throws `InvalidError` (`option-unknown`, `config-invalid`, `name-invalid`). */
  constructor(host: RecordedHost, options: SessionStoreOptions = {}) {
    refuseUnknownOptions('TidemarkSessionStore', options, {
      ...{ tenant: true, name: true, foldSummary: true, waitingMaxBytes: true, onUnavailable: true },
    });
    const { tenant, name = 'claude-sessions' } = options;
    this.#names = new RecordedNames(host, { tenant, kind: name });
    this.#foldSummary = options.foldSummary;
    if (options.foldSummary !== undefined) this.listSessionSummaries = (projectKey) => this.#summaries(projectKey);
    this.#waitingMaxBytes = options.waitingMaxBytes ?? WAITING_MAX_BYTES;
    this.#onUnavailable = options.onUnavailable ?? ((waiting, error) => this.#warn(waiting, error));
  }

  get waiting(): Waiting {
    return { batchCount: this.#batches.size, bytes: this.#waitingBytes };
  }

  /**
   * Resolves once the log has the batch. Throws `InvalidError` (`not-json`, `config-invalid`), `LimitError` (`sessions-waiting-full`), `ConflictError`
   * (`session-written-elsewhere`: another host went on with the conversation since this one read it; `load` reads it again), `UnavailableError`
   * (`sessions-closed`).
   */
  async append(key: SessionKey, entries: SessionStoreEntry[]): Promise<void> {
    const { session } = this.#sessionOf(key);
    const lines = entries.map((entry, at) => plainJson(entry, `entries[${at}]`));
    if (lines.length === 0) return;
    const bytes = Buffer.byteLength(JSON.stringify(lines));
    this.#refuseFull(bytes);
    this.#waitingBytes += bytes;
    const batch = session.turn.then(() => {
      // By a view of its own, so that what of the conversation this process has read stays as it is.
      const writer = areBeside(entries) ? this.#writerOf(key, () => true) : session.writer;
      return this.#write(writer, key, withinEntry(lines));
    });
    session.turn = batch.catch(() => {});
    this.#batches.add(batch);
    try {
      await batch;
    } finally {
      this.#batches.delete(batch);
      this.#waitingBytes -= bytes;
    }
  }

  #refuseFull(bytes: number): void {
    const { batchCount, bytes: waiting } = this.waiting;
    if (this.#closing.signal.aborted) throw new UnavailableError('sessions-closed', 'The store of sessions is closed.');
    if (batchCount === 0 || waiting + bytes <= this.#waitingMaxBytes) return;
    throw new LimitError(
      'sessions-waiting-full',
      `${batchCount} batches of ${waiting} bytes wait for the log, and no more are taken: this one is only in the transcript on this host. Import it from there once the log is back.`,
      { batchCount, bytes: waiting, maxBytes: this.#waitingMaxBytes },
    );
  }

  async #write(writer: RecordedWriter, key: SessionKey, parts: readonly (readonly Json[])[]): Promise<void> {
    const { sessionId, subpath = MAIN } = key;
    const fold = this.#foldSummary;
    // A part is the beginning of the rest, as a batch is: what a death leaves is a transcript that was.
    for (const part of parts) {
      const summaryAfter = (data: Json | undefined): Json => {
        const before = data === undefined ? undefined : { sessionId, mtime: 0, data: structuredClone(data) as never };
        return plainJson(fold!(before, key, structuredClone(part) as never).data, 'data of foldSummary');
      };
      const entries = async (stream: RecordedStream | undefined) =>
        linesAdded(stream, subpath, part, fold && summaryAfter);
      await writer.write(entries, this.#closing.signal);
    }
    this.#isWarned = false;
  }

  async load(key: SessionKey): Promise<SessionStoreEntry[] | null> {
    const { session, subpath } = this.#sessionOf(key);
    return session.writer.read((stream) => linesOf(stream, subpath));
  }

  async listSessions(projectKey: string): Promise<{ sessionId: string; mtime: number }[]> {
    const found: { sessionId: string; mtime: number }[] = [];
    for await (const { sessionId, mtime } of this.#sessionsOf(projectKey)) found.push({ sessionId, mtime });
    return found;
  }

  async #summaries(projectKey: string): Promise<SessionSummaryEntry[]> {
    const found: SessionSummaryEntry[] = [];
    for await (const { belief, ...session } of this.#sessionsOf(projectKey)) {
      const data = summaryIn(belief);
      if (data !== undefined) found.push({ ...session, data: data as unknown as SessionSummaryEntry['data'] });
    }
    return found;
  }

  async *#sessionsOf(projectKey: string): AsyncGenerator<{ sessionId: string; mtime: number; belief: Json }> {
    for await (const { name, belief, atMs } of this.#names.all([tagOf(projectKey)])) {
      const [project, sessionId] = name.split('/').map(decodeURIComponent) as [string, string];
      if (project === projectKey && hasMain(belief)) yield { sessionId, mtime: Math.floor(atMs), belief };
    }
  }

  async listSubkeys(key: { readonly projectKey: string; readonly sessionId: string }): Promise<string[]> {
    return subpathsIn(await this.#names.streamOf(nameOf(key)).find());
  }

  /** Of the main transcript: ends the session with all of its transcripts, and destroys the keys of its history where it is encrypted. */
  async delete(key: SessionKey): Promise<void> {
    const { session, subpath } = this.#sessionOf(key);
    if (subpath === MAIN) {
      await this.#names.delete(nameOf(key), 'its session was deleted').finally(() => session.writer.reset());
      return;
    }
    await session.writer.write(async (stream) => transcriptDropped(stream, subpath), this.#closing.signal);
  }

  /** Resolves once nothing waits for the log any more: await it before the process ends. */
  async flush(): Promise<void> {
    while (this.#batches.size > 0) await Promise.allSettled(this.#batches);
  }

  /** Gives up what waits: its `append` throws. Nothing more is taken. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.flush();
  }

  #sessionOf(key: SessionKey): { readonly session: Session; readonly subpath: string } {
    const name = nameOf(key);
    const session = this.#sessions.get(name) ?? { writer: this.#writerOf(key), turn: Promise.resolve() };
    keepLast(this.#sessions, name, session, SESSIONS_MAX_COUNT);
    const { subpath } = key;
    return { session, subpath: subpath === undefined ? MAIN : checkedStreamName('subpath', subpath) };
  }

  #writerOf(key: SessionKey, mayFollow = (entry: StreamEntry): boolean => areBeside(linesIn(entry))): RecordedWriter {
    const onUnavailable = (error: UnavailableError) => this.#onUnavailable(this.waiting, error);
    const tags = [tagOf(key.projectKey)];
    return this.#names.writerOf(nameOf(key), { what: 'session', tags, mayFollow, onUnavailable });
  }

  #warn({ batchCount, bytes }: Waiting, error: UnavailableError): void {
    if (this.#isWarned) return;
    this.#isWarned = true;
    const message = `The log of sessions is unavailable (${error.message}). ${batchCount} batches of ${bytes} bytes wait, and are tried again.`;
    process.emitWarning(message, { code: 'TIDEMARK_SESSIONS_WAIT' });
  }
}

/** By project and session; a slash in either is escaped. */
const nameOf = ({ projectKey, sessionId }: Pick<SessionKey, 'projectKey' | 'sessionId'>): string =>
  [checkedStreamName('projectKey', projectKey), checkedStreamName('sessionId', sessionId)]
    .map((part) => part.replaceAll('%', '%25').replaceAll('/', '%2F'))
    .join('/');

const tagOf = (projectKey: string): string => `project-${sha256Digest.sha256(projectKey).slice(0, 24)}`;
