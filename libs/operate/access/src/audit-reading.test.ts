/** What was audited is found whole and in order, page by page, with bounded work for each page (A4). */

import { encodePayload } from '@tidemark/codec';
import type { Json, TenantId } from '@tidemark/core';
import { beforeEach, describe, expect, it } from 'vitest';
import { AUDIT_SCANNED_MAX_COUNT, type AuditPage, type AuditQuery, auditPage } from './audit-reading.ts';
import type { AuditRecord } from './audit-record.ts';
import { AUDIT_STREAM_MAX_MS } from './limits.ts';

const ACME = 'acme' as TenantId;
const NOW_MS = 2_000_000_000_000;
const DAY_MS = 86_400_000;

interface Stored {
  readonly workflow: string;
  readonly openedAtMs: number;
  readonly updatedAtMs: number;
  readonly writes: readonly (readonly AuditRecord[])[];
}

let streams: Stored[];
let readCount: number;
let nextId: number;
beforeEach(() => {
  [streams, readCount, nextId] = [[], 0, 0];
});

const store = {
  search: async (query: {
    after?: { openedAtMs: number; workflow: string } | undefined;
    openedFromMs?: number | undefined;
    openedToMs?: number | undefined;
    limit: number;
  }) => {
    const { after, openedFromMs = 0, openedToMs = Number.POSITIVE_INFINITY, limit } = query;
    const order = [...streams].sort((a, b) => b.openedAtMs - a.openedAtMs || (a.workflow < b.workflow ? 1 : -1));
    const begin = after === undefined ? 0 : order.findIndex(({ workflow }) => workflow === after.workflow) + 1;
    return order
      .slice(begin)
      .filter(({ openedAtMs }) => openedAtMs >= openedFromMs && openedAtMs < openedToMs)
      .slice(0, limit)
      .map((stream) => ({ ...stream, sequence: stream.writes.length }));
  },
  checkpoints: async (workflow: string, { from, limit }: { from: number; limit: number }) => {
    const { writes } = streams.find((stream) => stream.workflow === workflow)!;
    const rows = writes.slice(from - 1, from - 1 + limit);
    readCount += rows.length;
    return rows.map((records) => ({
      atMs: records.at(-1)!.atMs,
      payload: Buffer.from(
        encodePayload('CheckpointCommitted', { output: records as unknown as Json, tasks: [] }),
      ).toString(),
    }));
  },
} as never;

/** All that fit, page by page. */
async function readAll(query: AuditQuery): Promise<readonly AuditRecord[]> {
  const found: AuditRecord[] = [];
  for (let before = query.before; found.length < query.limit; ) {
    const page = await auditPage(store, { ...query, before, limit: query.limit - found.length });
    found.push(...page.entries);
    if (page.next === null) break;
    before = page.next;
  }
  return found;
}

const record = (atMs: number, action: string): AuditRecord => ({
  ...{ id: String(nextId++).padStart(12, '0'), atMs, subject: 'key:a', kind: 'key', roles: [], of: null, action },
  ...{ right: 'read', target: null, outcome: 'done', code: null },
});
/** Entries at these times, so many in one write. */
function write(times: readonly number[], { action = 'getWorkflow', perWrite = 1 } = {}): void {
  const writes: AuditRecord[][] = [];
  for (let at = 0; at < times.length; at += perWrite)
    writes.push(times.slice(at, at + perWrite).map((atMs) => record(atMs, action)));
  const [openedAtMs, updatedAtMs] = [times[0]!, times.at(-1)!];
  streams.push({ workflow: `~audit:${streams.length}`, openedAtMs, updatedAtMs, writes });
}
const every = (count: number, { from, ms }: { from: number; ms: number }) =>
  Array.from({ length: count }, (_, index) => from + index * ms);

const ask = (query: Partial<AuditQuery> = {}): Promise<AuditPage> =>
  auditPage(store, { tenant: ACME, limit: 100, ...query });
async function walk(
  query: Partial<AuditQuery>,
): Promise<{ readonly ids: readonly string[]; readonly pageCount: number }> {
  const ids: string[] = [];
  let before: AuditQuery['before'];
  for (let pageCount = 1; ; pageCount++) {
    const { entries, next } = await ask({ ...query, before });
    ids.push(...entries.map(({ id }) => id));
    if (next === null) return { ids, pageCount };
    before = next;
  }
}
const newestFirst = () =>
  streams
    .flatMap(({ writes }) => writes.flat())
    .sort((a, b) => b.atMs - a.atMs || (a.id < b.id ? 1 : -1))
    .map(({ id }) => id);

describe('reading the audit', () => {
  it('tells each entry once, the newest first, of several processes at once', async () => {
    write(every(700, { from: NOW_MS, ms: 9_000 }));
    write(every(700, { from: NOW_MS + 5_000, ms: 7_000 }));
    write(every(300, { from: NOW_MS - 3 * DAY_MS, ms: 60_000 }), { perWrite: 7 });
    // At one time, more than a page.
    write(every(250, { from: NOW_MS + 100_000, ms: 0 }), { perWrite: 50 });
    for (const limit of [30, 100, 10_000]) expect((await walk({ limit })).ids).toEqual(newestFirst());
    expect((await readAll({ tenant: ACME, limit: 10_000 })).map(({ id }) => id)).toEqual(newestFirst());
    expect(await readAll({ tenant: ACME, limit: 45 })).toHaveLength(45);
  });

  it('reads no more than it may where little fits, and goes on until all of it was looked at', async () => {
    const count = AUDIT_SCANNED_MAX_COUNT * 2;
    write([NOW_MS - DAY_MS], { action: 'createKey' });
    write(every(count, { from: NOW_MS, ms: 1_000 }), { perWrite: 100 });
    const first = await ask({ action: 'createKey' });
    expect(first.entries).toEqual([]);
    expect(first.next).not.toBeNull();
    expect(readCount).toBeLessThan((count / 100) * 0.7);
    const whole = await walk({ action: 'createKey' });
    expect(whole.ids).toHaveLength(1);
    expect(whole.pageCount).toBeGreaterThan(1);
    expect((await walk({ action: 'nothing' })).ids).toEqual([]);
  });

  it('finds what is older than however many streams', async () => {
    write([NOW_MS - 30 * DAY_MS]);
    for (let index = 0; index < 1_200; index++) write([NOW_MS - index * 1_000_000]);
    const toMs = NOW_MS - 29 * DAY_MS;
    expect((await ask({ toMs })).entries).toMatchObject([{ atMs: NOW_MS - 30 * DAY_MS }]);
    expect((await ask({ fromMs: NOW_MS - 31 * DAY_MS, toMs })).entries).toHaveLength(1);
    expect((await walk({ limit: 500 })).ids).toEqual(newestFirst());
  });

  it('looks up what is old in a stream that goes on long after it, without reading all of that', async () => {
    write(every(8_000, { from: NOW_MS, ms: Math.floor(AUDIT_STREAM_MAX_MS / 8_000) }));
    const { entries } = await ask({ toMs: NOW_MS + 1_000_000, limit: 5 });
    expect(entries.map(({ id }) => id)).toEqual(newestFirst().slice(-93).slice(0, 5));
    expect(readCount).toBeLessThan(400);
  });
});
