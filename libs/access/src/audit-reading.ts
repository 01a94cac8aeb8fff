/** Owns finding what was audited: the newest entries of a tenant that fit. Reads rows, which archived streams come back to. */

import { decodePayload } from '@tidemark/codec';
import { CorruptError, type Sequence, type TenantId } from '@tidemark/core';
import type { AuditEntry, ProjectionStore, WorkflowSummary } from '@tidemark/ports';
import { AUDIT_DEFINITION, type AuditRecord, recordsIn } from './audit-record.ts';
import { AUDIT_PAGE_COUNT, AUDIT_READ_MAX_COUNT, AUDIT_STREAMS_READ_MAX } from './limits.ts';

export interface AuditQuery {
  readonly tenant: TenantId;
  /** From this time on, and before that one. */
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
  readonly subject?: string | undefined;
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  readonly outcome?: AuditEntry['outcome'] | undefined;
  /** Goes on after this one. */
  readonly before?: Pick<AuditRecord, 'atMs' | 'id'> | undefined;
  /** At most `AUDIT_READ_MAX_COUNT`. */
  readonly limit: number;
}

type Reads = Pick<ProjectionStore, 'workflows' | 'checkpoints'>;

/** The newest first. Throws `CorruptError` (`audit-unreadable`), and where archived streams are asked for as the tiers do. */
export async function readAudit(store: Reads, query: AuditQuery): Promise<readonly AuditRecord[]> {
  const { tenant, fromMs = 0, before } = query;
  const toMs = Math.min(
    query.toMs ?? Number.POSITIVE_INFINITY,
    before === undefined ? Number.POSITIVE_INFINITY : before.atMs + 1,
  );
  const limit = Math.min(query.limit, AUDIT_READ_MAX_COUNT);
  const listed = await store.workflows({ tenant, definition: AUDIT_DEFINITION, limit: AUDIT_STREAMS_READ_MAX });
  const streams = listed
    .filter(({ openedAtMs, updatedAtMs }) => updatedAtMs >= fromMs && openedAtMs - OPENING_LAG_MS < toMs)
    .sort((a, b) => b.updatedAtMs - a.updatedAtMs);
  let found = new Map<string, AuditRecord>();
  let oldestMs = Number.NEGATIVE_INFINITY;
  for (const stream of streams) {
    // All that it has is older than what there is already.
    if (found.size >= limit && stream.updatedAtMs < oldestMs) break;
    for await (const record of recordsOf(store, stream, Math.max(fromMs, oldestMs))) {
      if (fits(record, query)) found.set(record.id, record);
    }
    const newest = [...found.values()].sort(newestFirst).slice(0, limit);
    found = new Map(newest.map((record) => [record.id, record]));
    if (found.size >= limit) oldestMs = newest.at(-1)!.atMs;
  }
  return [...found.values()];
}

/** Entries may wait for a while until a stream is opened for them. */
const OPENING_LAG_MS = 86_400_000;

type Placed = Pick<AuditRecord, 'atMs' | 'id'>;
const newestFirst = (a: Placed, b: Placed): number => b.atMs - a.atMs || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0);

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

/** Backwards, until a whole page was written before that time. */
async function* recordsOf(store: Reads, { workflow, sequence }: WorkflowSummary, sinceMs: number) {
  for (let to: number = sequence; to > 0; to -= AUDIT_PAGE_COUNT) {
    const from = Math.max(1, to - AUDIT_PAGE_COUNT + 1);
    const page = await store.checkpoints(workflow, { from: from as Sequence, limit: to - from + 1 });
    for (const { payload } of page) {
      const { output } = decodePayload('CheckpointCommitted', payload);
      if (output === null) continue;
      const records = recordsIn(output);
      if (records === undefined) throw unreadable(workflow);
      yield* records;
    }
    if (page.every(({ atMs }) => atMs < sinceMs)) return;
  }
}

const unreadable = (workflow: string): CorruptError =>
  new CorruptError(
    'audit-unreadable',
    `What ${workflow} holds is no audit as this release writes it: a newer one wrote it, or it was changed.`,
    { workflow },
  );
