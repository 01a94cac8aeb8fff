/** What is shown was written down before, and what can't be written down isn't shown (R4). */

import { AccessError, InvalidError, type TenantId, TidemarkError, UnavailableError } from '@tidemark/core';
import type { AuditEntry, Principal } from '@tidemark/ports';
import { beforeEach, expect, it } from 'vitest';
import { type AuditedCall, audited } from './audited.ts';
import { allRoutes } from './routes.ts';

const PLATFORM: Principal = { subject: 'key:a', tenant: null, roles: ['admin'], kind: 'key' };
const BODY = { body: { workflow: 'w' } };

let [written, recorded]: AuditEntry[][] = [];
let settle: { readonly resolve: () => void; readonly reject: (error: unknown) => void };
beforeEach(() => {
  [written, recorded] = [[], []];
});

const trail = {
  admit: () => {},
  record: (entry: AuditEntry) => void recorded!.push(entry),
  write: (entry: AuditEntry) =>
    new Promise<void>((resolve, reject) => {
      written!.push(entry);
      settle = { resolve, reject };
    }),
};
const call = (more: Partial<AuditedCall> = {}): AuditedCall => ({
  ...{
    route: { name: 'getWorkflow', right: 'read' },
    principal: PLATFORM,
    showsContent: true,
    params: { workflow: 'w' },
  },
  tenantOf: (target) => (target === 'w' ? ('acme' as TenantId) : undefined),
  ...more,
});

it('shows content once its entry is in the log, with the tenant whose it was', async () => {
  let isShown = false;
  const answer = audited(trail, call(), async () => BODY).then(() => {
    isShown = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(written).toMatchObject([{ action: 'getWorkflow', target: 'w', tenant: 'acme', outcome: 'done' }]);
  expect(isShown).toBe(false);
  settle.resolve();
  await answer;
  expect(recorded).toEqual([]);
});

it('shows nothing where that can’t be written', async () => {
  const answer = audited(trail, call(), async () => BODY);
  await new Promise((resolve) => setImmediate(resolve));
  settle.reject(new UnavailableError('audit-behind', 'the log is away'));
  await expect(answer).rejects.toMatchObject({ code: 'audit-behind' });
  expect(recorded).toEqual([]);
});

it('shows nothing, and writes no other entry, where that never can be written', async () => {
  const answer = audited(trail, call(), async () => BODY);
  await new Promise((resolve) => setImmediate(resolve));
  settle.reject(new TidemarkError('audit-unwritable', 'too large'));
  await expect(answer).rejects.toMatchObject({ code: 'audit-unwritable' });
  expect(recorded).toEqual([]);
});

it('asks for room for the tenant whose it is, known by whoever asks or by what was looked at', async () => {
  const asked: (TenantId | null)[] = [];
  const asking = { ...trail, admit: (tenant: TenantId | null) => void asked.push(tenant) };
  const action = { route: { name: 'signalWorkflow', right: 'operate' } as const, showsContent: false };
  const mine = { ...PLATFORM, tenant: 'globex' as TenantId };
  for (const more of [{}, { params: { workflow: 'unknown' } }, { principal: mine }])
    await audited(asking, call({ ...action, ...more }), async () => BODY);
  expect(asked).toEqual(['acme', null, 'globex']);
});

it('waits for nothing where no content is shown', async () => {
  const action = call({ route: { name: 'signalWorkflow', right: 'operate' }, showsContent: false });
  expect(await audited(trail, action, async () => BODY)).toBe(BODY);
  const failing = audited(trail, call(), async () => {
    throw new InvalidError('workflow-unknown', 'none');
  });
  await expect(failing).rejects.toMatchObject({ code: 'workflow-unknown' });
  const refused = audited(trail, action, async () => {
    throw new AccessError('right-missing', 'not you');
  });
  await expect(refused).rejects.toMatchObject({ code: 'right-missing' });
  // A viewer sees no content: nothing to be written down.
  await audited(trail, call({ showsContent: false }), async () => BODY);
  expect(recorded!.map(({ action: name, outcome, code }) => [name, outcome, code])).toEqual([
    ['signalWorkflow', 'done', undefined],
    ['getWorkflow', 'failed', 'workflow-unknown'],
    ['signalWorkflow', 'refused', 'right-missing'],
  ]);
  expect(written).toEqual([]);
});

it('names what a resumed session started, and the session alone where nothing was', async () => {
  const route = allRoutes.find(({ name }) => name === 'resumeSession')!;
  const resumed = (created: boolean) =>
    audited(
      trail,
      call({ route, showsContent: false, params: { session: 'talk' }, query: { tenant: 'acme' } }),
      async () => ({ body: { workflow: 'w', created } }),
    );
  await resumed(false);
  expect(recorded!.map(({ target }) => target)).toEqual(['talk']);
  await resumed(true);
  expect(recorded!.map(({ target, tenant }) => [target, tenant])).toEqual([
    ['talk', 'acme'],
    ['talk', 'acme'],
    ['w', 'acme'],
  ]);
});
