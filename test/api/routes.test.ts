/** The routes on a real embedded host, over a real connection, through the typed client and by bare requests. */

import { connect, TidemarkApiError } from '@tidemark/client';
import { workflowId } from '@tidemark/core';
import { traceOf } from '@tidemark/traces';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator });
});
afterAll(() => served.close());

const as = (token: string) => connect({ url: served.url, token });
const admin = () => as('admin');
const failure = async (work: Promise<unknown>): Promise<TidemarkApiError> => {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(TidemarkApiError);
  return error as TidemarkApiError;
};

describe('a workflow', () => {
  it('is started, waited for and told', async () => {
    const run = await admin().start('greet', { name: 'Ana' }, { id: 'greet-1' });
    expect(run).toMatchObject({ id: 'greet-1', created: true });
    expect(await run.result()).toEqual({ text: 'Hello, Ana!' });
    const view = await run.get();
    expect(view).toMatchObject({
      status: 'completed',
      input: { name: 'Ana' },
      belief: { greeting: 'Hello, Ana!' },
      output: { text: 'Hello, Ana!' },
      sequence_number: 2,
      flow: { starts: ['compose'] },
    });
    const { checkpoints, next_from } = await run.checkpoints();
    expect(checkpoints.map(({ step_definition_ref }) => step_definition_ref)).toEqual(['compose', 'say']);
    expect(next_from).toBeNull();
  });

  it('is started once for its id', async () => {
    const [first, second] = [
      await admin().start('greet', { name: 'Ben' }, { id: 'greet-2' }),
      await admin().start('greet', { name: 'Bea' }, { id: 'greet-2' }),
    ];
    expect([first.created, second.created]).toEqual([true, false]);
    expect(second.sameInput).toBe(false);
    expect(await second.result()).toEqual({ text: 'Hello, Ben!' });
  });

  it('is cancelled after the time that its start says', async () => {
    const run = await admin().start('patient', {}, { id: 'brief-1', timeout: '1s' });
    await expect.poll(async () => (await run.get()).status).toBe('failed');
    expect(await failure(admin().start('patient', {}, { timeout: 'soon' }))).toMatchObject({
      code: 'duration-invalid',
    });
  });

  it("links its trace to its caller's", async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    const run = await admin().start('greet', { name: 'Tia' }, { id: 'traced-1', traceparent });
    await run.result();
    const { spans } = await traceOf(served.host.ports, workflowId(run.id));
    expect(spans.flatMap(({ links }) => links)).toContainEqual(
      expect.objectContaining({ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }),
    );
  });

  it('hears a signal once for its key', async () => {
    const run = await admin().start('patient', { times: 2 }, { id: 'patient-1' });
    await run.signal('go', 'one', { key: 'k1' });
    await run.signal('go', 'one', { key: 'k1' });
    await run.signal('go', { two: [2] });
    expect(await run.result()).toEqual({ heard: ['one', { two: [2] }] });
  });

  it('asks a person, and goes on with the answer', async () => {
    const run = await admin().start('asking', { cents: 12 }, { id: 'asking-1' });
    await expect.poll(async () => (await run.get()).status).toBe('parked');
    const { question } = await run.get();
    expect(question).toMatchObject({ code: 'effect-unknown', resolutions: expect.arrayContaining(['done']) });
    await run.decide({ resolution: 'done', why: 'the bank says so', response: { receipt: 'r1' } });
    expect(await run.result()).toEqual({ receipt: 'r1' });
    const again = await failure(run.decide({ resolution: 'fail', why: 'no', question: question!.question_id }));
    expect(again).toMatchObject({ status: 409, code: 'already-decided' });
  });

  it('is started with an empty input where none is given', async () => {
    const { workflow } = await admin().ask('POST /v1/workflows', { body: { definition: 'patient' } });
    expect(await admin().run(workflow).get()).toMatchObject({ input: { times: 1 } });
  });

  it('that nobody knows is unknown', async () => {
    expect(await failure(admin().run('nobody').get())).toMatchObject({ status: 404, code: 'workflow-unknown' });
    expect(await failure(admin().start('nothing', {}))).toMatchObject({ status: 404, code: 'definition-unknown' });
  });

  it('is refused with the wrong field named', async () => {
    expect(await failure(admin().start('greet', { name: 7 }))).toMatchObject({ status: 400 });
    const bad = await failure(admin().run('greet-1').signal('', 1));
    expect(bad).toMatchObject({ status: 400, code: 'request-invalid' });
    expect(bad.message).toContain('body.name');
  });
});

describe('a list', () => {
  it('is searched, and told page by page', async () => {
    for (let at = 0; at < 5; at++) {
      const options = { id: `listed-${at}`, tags: ['listed', `n${at}`], user: 'ana', session: `listed-${at}` };
      const run = await admin().start('patient', {}, options);
      // Lists follow starts; what a run's own routes answer from is what lists are made of.
      await run.get();
    }
    const query = { tag: 'listed', status: 'open', limit: 2 } as const;
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await admin().list({ ...query, ...(cursor !== undefined && { cursor }) });
      ids.push(...page.workflows.map(({ workflow }) => workflow));
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    expect(ids.toSorted()).toEqual([0, 1, 2, 3, 4].map((at) => `listed-${at}`));
    const both = await admin().list({ tag: ['listed', 'n3'], user: 'ana', text: 'LISTED' });
    expect(both.workflows).toMatchObject([
      { workflow: 'listed-3', tags: ['listed', 'n3'], user: 'ana', session: 'listed-3' },
    ]);
    expect(await failure(admin().list({ cursor: 'bm8' }))).toMatchObject({ status: 400, code: 'cursor-invalid' });
    const all: string[] = [];
    for await (const { workflow } of admin().all({ tag: 'listed', limit: 2 })) all.push(workflow);
    expect(all).toEqual(ids);
  });
});

describe('who asks', () => {
  it('needs credentials, and the right', async () => {
    expect(await failure(connect({ url: served.url }).list())).toMatchObject({
      status: 401,
      code: 'credentials-missing',
    });
    const refused = await failure(as('viewer').start('greet', { name: 'V' }));
    expect(refused).toMatchObject({ status: 403, code: 'right-missing' });
  });

  it('sees nothing of another tenant (I9)', async () => {
    const run = await as('operator acme').start('greet', { name: 'Acme' }, { id: 'acme-1' });
    await run.result();
    const other = as('operator other').run('acme-1');
    const tries: readonly (() => Promise<unknown>)[] = [
      () => other.get(),
      () => other.checkpoints(),
      () => other.effects(),
      () => other.tasks(),
      () => other.notes(),
      () => other.outcome(),
      () => other.revoke(),
      () => other.signal('go'),
      () => other.pin(true, 'x'),
    ];
    for (const tried of tries) expect(await failure(tried())).toMatchObject({ status: 404, code: 'workflow-unknown' });
    const list = await as('operator other').list();
    expect(list.workflows.filter(({ tenant }) => tenant !== 'other')).toEqual([]);
    expect(await failure(as('operator other').list({ tenant: 'acme' }))).toMatchObject({
      status: 404,
      code: 'tenant-unknown',
    });
  });

  it('without the right to content is told the same without it (R2)', async () => {
    const run = await admin().start('greet', { name: 'Secret Name' }, { id: 'content-1' });
    await run.result();
    const viewer = as('viewer').run('content-1');
    const view = await viewer.get();
    expect(view).toMatchObject({ status: 'completed', workflow: 'content-1', sequence_number: 2 });
    const answers = [
      view,
      await viewer.checkpoints(),
      await viewer.effects(),
      await viewer.notes(),
      await viewer.outcome(),
    ];
    expect(JSON.stringify(answers)).not.toContain('Secret Name');
    expect(JSON.stringify(await run.get())).toContain('Secret Name');
  });
});

it.each([
  ['/v1/workflows?tags=gold', 'query.tags'],
  ['/v1/me?x=1', 'query.x'],
  ['/v1/events?tenants=a', 'query.tenants'],
])('%s: a parameter that is not known is refused, and not passed over', async (path, field) => {
  const answer = await fetch(`${served.url}${path}`, { headers: { authorization: 'Bearer admin' } });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ code: 'request-invalid', fields: [{ field }] });
});

it('a signal that its definition does not take is refused before it is sent', async () => {
  const { definitions } = await admin().ask('GET /v1/definitions', {});
  expect(Object.fromEntries(definitions.map(({ name, signals }) => [name, Object.keys(signals ?? {})]))).toEqual({
    ...{ greet: [], patient: ['go'], asking: [] },
  });
  const run = await admin().start('patient', {});
  expect(await failure(run.signal('gone', 1))).toMatchObject({ status: 400, code: 'signal-unknown' });
  expect(await failure(run.signal('tidemark.schedule', 1))).toMatchObject({ status: 400, code: 'signal-reserved' });
  await run.signal('go', 1);
  expect(await run.result()).toEqual({ heard: [1] });
});
