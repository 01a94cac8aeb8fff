/** Children, approvals and fresh histories over HTTP: who is asked, who may answer, whose children are told, and who goes on for whom. */

import { connect } from '@tidemark/client';
import { eventually } from '@tidemark/testkit/eventually';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { askSomebody, family, type Served, sayingAuthenticator, serveApi, turning } from './served.ts';

let served: Served;
beforeAll(async () => {
  const definitions = [family, askSomebody, turning];
  served = await serveApi({ authenticator: sayingAuthenticator, definitions });
});
afterAll(() => served.close());

const client = (token = 'admin') => connect({ url: served.url, token });
const inbox = async (query: object = {}, token?: string) =>
  (await client(token).ask('GET /v1/approvals', { query })) as {
    readonly approvals: readonly { readonly workflow: string }[];
    readonly next_cursor: string | null;
  };
const answer = (workflow: string, token: string, body: object = { approved: true, value: { cents: 3 } }) =>
  client(token).ask('POST /v1/workflows/{workflow}/approvals/{task}', {
    params: { workflow, task: '0.0' },
    body: body as { readonly approved: boolean },
  });

it('a child asks its assignee, who alone answers, or an admin', async () => {
  const run = await client('operator acme').start('family', { assignee: 'approver-of-acme' }, { id: 'f1' });
  const other = await client('operator acme').start('family', { assignee: 'somebody' }, { id: 'f2' });
  await eventually(async () => expect((await inbox()).approvals).toHaveLength(2));
  const [asked] = (await inbox({ assignee: 'approver-of-acme' })).approvals;
  expect(asked).toMatchObject({ workflow: 'f1~0.0', tenant: 'acme', name: 'pay', title: 'Pay?', detail: { cents: 5 } });
  const answerable = async (token: string) =>
    ((await inbox({}, token)).approvals as readonly { workflow: string; answerable?: boolean }[]).map((one) => [
      one.workflow,
      one.answerable,
    ]);
  expect(await answerable('approver acme')).toEqual(
    expect.arrayContaining([
      ['f1~0.0', true],
      ['f2~0.0', false],
    ]),
  );
  expect(await answerable('viewer acme')).toEqual(
    expect.arrayContaining([
      ['f1~0.0', false],
      ['f2~0.0', false],
    ]),
  );
  expect((await inbox({ assignee: ['nobody', 'somebody'] })).approvals).toMatchObject([{ workflow: 'f2~0.0' }]);
  expect((await inbox({}, 'approver globex')).approvals).toEqual([]);
  const [seen] = (await inbox({}, 'viewer acme')).approvals;
  expect(seen).not.toHaveProperty('title');
  expect(seen).not.toHaveProperty('form');
  const first = await inbox({ limit: 1 });
  const second = await inbox({ limit: 1, cursor: first.next_cursor });
  expect([...first.approvals, ...second.approvals].map(({ workflow }) => workflow).sort()).toEqual([
    'f1~0.0',
    'f2~0.0',
  ]);
  expect(second.next_cursor).toBeNull();

  await expect(answer('f1~0.0', 'operator acme')).rejects.toMatchObject({ status: 403, code: 'right-missing' });
  await expect(answer('f1~0.0', 'approver globex')).rejects.toMatchObject({ status: 404, code: 'workflow-unknown' });
  await expect(answer('f2~0.0', 'approver acme')).rejects.toMatchObject({ status: 403, code: 'assignee-differs' });
  const unfit = answer('f1~0.0', 'approver acme', { approved: true, value: { cents: 'x' } });
  await expect(unfit).rejects.toMatchObject({ code: 'approval-unfit', fields: [{ field: 'value/cents' }] });
  await expect(answer('f1~0.0', 'approver acme', { approved: true, value: {} })).rejects.toMatchObject({
    ...{ status: 400, code: 'approval-unfit' },
    fields: [{ field: 'value/cents', problem: expect.stringContaining('required') }],
  });
  expect(await answer('f1~0.0', 'approver acme')).toEqual({ workflow: 'f1~0.0', task: '0.0', changed: true });
  expect(await answer('f1~0.0', 'approver acme')).toMatchObject({ changed: false });
  await expect(answer('f1~0.0', 'admin acme')).rejects.toMatchObject({ status: 409, code: 'already-answered' });
  expect(await run.result()).toEqual({ by: 'approver-of-acme' });
  expect(await answer('f2~0.0', 'admin acme')).toMatchObject({ changed: true });
  expect(await other.result()).toEqual({ by: 'admin-of-acme' });
});

it.each([
  ['user:ana', 'approver acme user:ana', 'approver acme user:anna'],
  ['group:leads', 'approver acme user:bob group:leads', 'approver acme team:leads'],
  ['team:risk', 'approver acme team:risk', 'approver acme group:risk'],
  ['role:approver', 'approver acme', 'admin globex'],
  ['approver-of-acme', 'approver acme', 'approver acme-2 user:approver-of-acme'],
])('%s is asked for by that name, and nobody else', async (assignee, fit, unfit) => {
  const id = `asked-${assignee.replace(':', '-')}`;
  await client('operator acme').start('ask-somebody', { assignee }, { id });
  const mine = async (token: string) =>
    (await inbox({ mine: 'true' }, token)).approvals.map(({ workflow }) => workflow);
  await eventually(async () => expect(await mine(fit)).toContain(id));
  expect(await mine(unfit)).not.toContain(id);
  expect(await mine('operator acme')).not.toContain(id);
  // Both filters hold together.
  expect((await inbox({ mine: 'true', assignee: 'user:nobody' }, fit)).approvals).toEqual([]);
  expect((await client(fit).ask('GET /v1/me', {})).asked_as).toContain(assignee);
  const code = unfit.includes(' acme ') ? 'assignee-differs' : 'workflow-unknown';
  await expect(answer(id, unfit)).rejects.toMatchObject({ code });
  expect(await answer(id, fit)).toMatchObject({ changed: true });
});

it('children are listed by their parent', async () => {
  const run = await client('operator acme').start('family', {}, { id: 'f3' });
  const list = (token: string) =>
    client(token).ask('GET /v1/workflows/{workflow}/children', { params: { workflow: run.id }, query: {} });
  await eventually(async () =>
    expect(await list('viewer acme')).toMatchObject({
      children: [{ workflow: 'f3~0.0', definition: 'ask-somebody', tenant: 'acme' }],
      next_cursor: null,
    }),
  );
  expect((await client('viewer acme').run('f3~0.0').get()).parent).toEqual({ workflow: 'f3', task: '0.0' });
  expect((await client('viewer acme').run('f3').get()).parent).toBeNull();
  await expect(list('viewer globex')).rejects.toMatchObject({ status: 404, code: 'workflow-unknown' });
  await expect(client().start('family', {}, { id: 'f3~0.1' })).rejects.toMatchObject({ code: 'workflow-id-reserved' });
});

it('tells callers who they are and what they may do', async () => {
  expect(await client('viewer acme').ask('GET /v1/me', {})).toMatchObject({
    ...{ tenant: 'acme', roles: ['viewer'] },
    rights: ['read', 'scale'],
  });
  expect((await client('approver acme').ask('GET /v1/me', {})).rights).toEqual(['read', 'content', 'decide', 'scale']);
});

it('a workflow that goes on is spoken to, and waited for, by its first id', async () => {
  const operator = client('operator acme');
  const run = await operator.start('turning', { left: 2 }, { id: 't1' });
  const seen = (workflow: string) =>
    client('viewer acme').ask('GET /v1/workflows/{workflow}', { params: { workflow } });
  await eventually(async () => expect(await seen('t1~3')).toMatchObject({ continues: 't1~2', pending_task_count: 1 }));
  expect(await seen('t1')).toMatchObject({ status: 'completed', reason: 'continued', continued_as: 't1~2' });
  expect(await seen('t1~2')).toMatchObject({ continues: 't1', continued_as: 't1~3' });
  expect(await seen('t1~3')).not.toHaveProperty('continued_as');
  expect(await run.outcome()).toMatchObject({ workflow: 't1~3', status: 'open' });
  const events: unknown[] = [];
  for await (const { name, data } of run.events()) if (name === 'event') events.push(data);
  expect(events.at(-1)).toMatchObject({ type: 'WorkflowCompleted', control: { continued: 't1~2' } });
  expect(await run.pause('a look')).toMatchObject({ workflow: 't1~3', changed: true });
  expect(await run.resume('seen')).toMatchObject({ workflow: 't1~3', changed: true });
  await run.signal('go', 'on');
  expect(await run.result()).toEqual({ said: 'on' });
  expect((await operator.start('turning', { left: 2 }, { id: 't1' })).created).toBe(false);
  await expect(operator.start('turning', { left: 0 }, { id: 't1~2' })).rejects.toMatchObject({
    ...{ status: 400, code: 'workflow-id-reserved' },
  });
});
