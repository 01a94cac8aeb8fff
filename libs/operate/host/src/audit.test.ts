/** The audit in the log itself: written, found by its filters, each tenant's apart, not lost with rows, and archived with what ended. */

import { rm } from 'node:fs/promises';
import path from 'node:path';
import { AUDIT_DEFINITION, type AuditQuery, auditPage, type WrittenTrail } from '@tidemark/access';
import type { TenantId } from '@tidemark/core';
import type { AuditEntry } from '@tidemark/ports';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { auditTrail } from './access.ts';
import { FolderFixture } from './folder-fixture.ts';
import type { Host } from './host.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
const ACME = 'acme' as TenantId;
const GLOBEX = 'globex' as TenantId;

let at: FolderFixture;
let host: Host;
let trail: WrittenTrail;
beforeEach(async () => {
  at = await FolderFixture.make();
  host = await at.open({ keysUrl: at.keysUrl() });
  trail = auditTrail(host);
});
afterEach(() => at.end());

const record = (more: Partial<AuditEntry> = {}): void =>
  trail.record({
    principal: { subject: 'key:a', tenant: ACME, roles: ['operator'], kind: 'key' },
    tenant: ACME,
    action: 'getBelief',
    right: 'content',
    target: 'w',
    outcome: 'done',
    ...more,
  });
const read = async (query: Partial<AuditQuery> = {}) =>
  (await auditPage(host.ports.store, { tenant: ACME, limit: 100, ...query })).entries;

it('is found by who, what, on what and when; the newest first', async () => {
  for (let count = 0; count < 250; count++) {
    record({ target: `w${count % 5}` });
    if (count % 100 === 0) await trail.flushed();
  }
  record({
    principal: { subject: 'token:bob', tenant: ACME, roles: ['viewer'], kind: 'token' },
    outcome: 'refused',
    code: 'right-missing',
  });
  record({ tenant: GLOBEX, target: 'theirs' });
  await trail.flushed();
  const projected = () =>
    vi.waitFor(async () => expect((await read({ limit: 10_000 })).length).toBe(251), { timeout: 60_000 });
  await projected();
  expect(await read({ subject: 'token:bob' })).toMatchObject([
    { code: 'right-missing', outcome: 'refused', kind: 'token' },
  ]);
  expect(await read({ target: 'w3' })).toHaveLength(50);
  expect(await read({ action: 'nothing' })).toEqual([]);
  expect(await read({ outcome: 'done', limit: 3 })).toHaveLength(3);
  const all = await read({ limit: 10_000 });
  const times = all.map(({ atMs }) => atMs);
  expect(times).toEqual([...times].sort((a, b) => b - a));
  expect(await read({ fromMs: times[0]! + 1 })).toEqual([]);
  expect(await read({ toMs: times.at(-1)! })).toEqual([]);
  // I9, and the control.
  expect(await read({ target: 'theirs' })).toEqual([]);
  expect(await read({ tenant: GLOBEX })).toMatchObject([{ target: 'theirs' }]);
});

it('is not lost with the rows (I6), and nobody claims or lists its streams', async () => {
  record();
  await trail.close();
  expect(await host.ports.store.workflows({ limit: 10 })).toEqual([]);
  await at.close(host);
  await rm(path.join(at.state, 'rows'), { recursive: true });
  host = await at.open({ keysUrl: at.keysUrl() });
  await vi.waitFor(async () => expect(await read()).toHaveLength(1), { timeout: 60_000 });
});

it('is archived once its stream has ended, and still found', async () => {
  record();
  await trail.close();
  await vi.waitFor(
    async () => {
      const [stream] = await host.ports.store.workflows({ definition: AUDIT_DEFINITION, limit: 10 });
      expect(stream?.status).toBe('completed');
    },
    { timeout: 60_000 },
  );
  const compactor = host.compactor({ policy: { hotMs: 1, segmentMinBytes: 1 }, paceBytesPerSecond: 1e9 });
  await vi.waitFor(
    async () => {
      await compactor.pass();
      const workflows = (await host.ports.store.segments({ limit: 10 })).flatMap((segment) => segment.workflows);
      expect(JSON.stringify(workflows)).toContain('~audit:');
    },
    { timeout: 60_000 },
  );
  expect(await read()).toHaveLength(1);
  expect(await at.filesWith('getBelief')).toEqual([]);
});
