/**
 * Owns finding what was audited: the newest entries of a tenant that fit, page by page. It reads rows, into which archived streams are
 * restored.
 *
 * A4 A page holds the newest entries that fit and that no other page had; without a next page, there are no more. A page reads at most
 *    `AUDIT_SCANNED_MAX_COUNT` entries (and one page of a stream) before it returns what it has found, be that nothing, and where to
 *    continue.
 */

import type { TenantId, WorkflowId } from '@tidemark/core';
import type { AuditEntry, ProjectionStore } from '@tidemark/ports';
import { AUDIT_DEFINITION, type AuditRecord } from './audit-record.ts';
import { AuditTail } from './audit-tail.ts';
import { AUDIT_PAGE_COUNT, AUDIT_STREAM_MAX_MS, AUDIT_STREAMS_PAGE_COUNT } from './limits.ts';

/** Entries that are read for one answer; where few of them fit, the answer says how to continue. */
export const AUDIT_SCANNED_MAX_COUNT = 50_000;
/** Longest wait of an entry until a stream is opened for it, in milliseconds. */
const AUDIT_OPENING_LAG_MS = 86_400_000;
/** Entries in one answer at most. */
const AUDIT_READ_MAX_COUNT = 10_000;

export interface AuditQuery {
  readonly tenant: TenantId;
  /** From this time on, and before that one. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly subject?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly outcome?: AuditEntry['outcome'] | undefined;
  /** Continues after this one. */
  readonly before?: AuditPlace | undefined;
  /** At most `AUDIT_READ_MAX_COUNT`. */
  readonly limit: number;
}

/** A place in the order of entries; a place that a page names need not be an entry's. */
export type AuditPlace = Pick<AuditRecord, 'atMs' | 'id'>;

export interface AuditPage {
  /** The newest first; fewer than requested, or none, doesn't mean that there are no more. */
  readonly entries: readonly AuditRecord[];
  /** Where to continue; null: there is no more. */
  readonly next: AuditPlace | null;
}

type Reads = Pick<ProjectionStore, 'search' | 'checkpoints'>;

/** Throws `CorruptError` (`audit-unreadable`), and for archived streams what the tiers throw. */
export async function auditPage(store: Reads, query: AuditQuery): Promise<AuditPage> {
  const { fromMs = 0, toMs = Number.POSITIVE_INFINITY, before } = query;
  const limit = Math.min(query.limit, AUDIT_READ_MAX_COUNT);
  const beginsMs = Math.min(toMs - 1, before?.atMs ?? Number.POSITIVE_INFINITY);
  const streams = new Streams(store, query, beginsMs);
  const found = new Map<string, AuditRecord>();
  for (let readCount = 0; ; ) {
    const { newestMs } = streams;
    // Every entry newer than the unread ones is in order.
    const reported = [...found.values()].filter(({ atMs }) => atMs > newestMs).sort(newestFirst);
    if (reported.length >= limit || newestMs < fromMs) {
      const entries = reported.slice(0, limit);
      const isLast = newestMs < fromMs && reported.length <= limit;
      return { entries, next: isLast ? null : placeOf(entries.at(-1)!) };
    }
    if (readCount >= AUDIT_SCANNED_MAX_COUNT && newestMs < beginsMs) {
      return { entries: reported, next: { atMs: newestMs, id: AFTER_ALL_IDS } };
    }
    const records = await streams.page();
    readCount += Math.max(records.length, AUDIT_PAGE_COUNT);
    for (const record of records) if (fits(record, query)) found.set(record.id, record);
  }
}

/** Reads the streams of a tenant backwards as if they were one. */
class Streams {
  readonly #store: Reads;
  readonly #query: AuditQuery;
  readonly #beginsMs: number;
  #tails: AuditTail[] = [];
  /** Streams that aren't listed yet begin after this one; null: all are listed. */
  #after: { readonly openedAtMs: number; readonly workflow: WorkflowId } | null | undefined;
  /** None of them holds a newer entry. */
  #unlistedMs: number;

  constructor(store: Reads, query: AuditQuery, beginsMs: number) {
    this.#store = store;
    this.#query = query;
    this.#beginsMs = beginsMs;
    this.#unlistedMs = beginsMs;
  }

  /** No unread entry is newer than this; before all times when there is no more. */
  get newestMs(): number {
    return Math.max(this.#unlistedMs, ...this.#tails.map(({ newestMs }) => newestMs));
  }

  /** Reads more of the streams that may hold the newest unread entry; none: it lists further streams. */
  async page(): Promise<readonly AuditRecord[]> {
    const [newest] = this.#tails.toSorted((a, b) => b.newestMs - a.newestMs);
    if (newest === undefined || newest.newestMs < this.#unlistedMs) {
      await this.#list();
      return [];
    }
    const records = await newest.page();
    if (newest.isRead) this.#tails = this.#tails.filter((tail) => tail !== newest);
    return records;
  }

  async #list(): Promise<void> {
    const { tenant, fromMs = 0 } = this.#query;
    const begins = this.#beginsMs;
    const listed = await this.#store.search({
      ...{ tenant, definition: AUDIT_DEFINITION, after: this.#after ?? undefined, limit: AUDIT_STREAMS_PAGE_COUNT },
      openedFromMs: fromMs === 0 ? undefined : Math.max(0, fromMs - STREAM_SPAN_MS),
      openedToMs: Number.isFinite(begins) ? begins + AUDIT_OPENING_LAG_MS : undefined,
    });
    for (const stream of listed) {
      if (stream.sequence > 0 && stream.updatedAtMs >= fromMs)
        this.#tails.push(new AuditTail(this.#store, stream, begins));
    }
    const last = listed.at(-1);
    this.#after = last === undefined || listed.length < AUDIT_STREAMS_PAGE_COUNT ? null : last;
    const newestMs = this.#after === null ? Number.NEGATIVE_INFINITY : this.#after!.openedAtMs + STREAM_SPAN_MS;
    this.#unlistedMs = Math.min(this.#unlistedMs, newestMs);
  }
}

/** No process writes to a stream that is twice as old as one gets. */
const STREAM_SPAN_MS = 2 * AUDIT_STREAM_MAX_MS;

/** Ids are hexadecimal digits. */
const AFTER_ALL_IDS = '~';

const placeOf = ({ atMs, id }: AuditPlace): AuditPlace => ({ atMs, id });
const newestFirst = (a: AuditPlace, b: AuditPlace): number =>
  b.atMs - a.atMs || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);

function fits(record: AuditRecord, query: AuditQuery): boolean {
  const { fromMs = 0, toMs = Number.POSITIVE_INFINITY, subject, action, target, outcome, before } = query;
  return (
    (before === undefined || newestFirst(before, record) < 0) &&
    record.atMs >= fromMs &&
    record.atMs < toMs &&
    (subject === undefined || record.subject === subject) &&
    (action === undefined || record.action === action) &&
    (target === undefined || record.target === target) &&
    (outcome === undefined || record.outcome === outcome)
  );
}
