/** The past, life, money, sessions and the fleet, on a real embedded host. */

import { connect } from '@tidemark/client';
import type { WorkflowId } from '@tidemark/core';
import { traceOf } from '@tidemark/traces';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Served, sayingAuthenticator, serveApi } from './served.ts';

let served: Served;
beforeAll(async () => {
  served = await serveApi({ authenticator: sayingAuthenticator });
});
afterAll(() => served.close());

const client = (token = 'admin') => connect({ url: served.url, token });

describe('a caller’s trace', () => {
  const traceId = 'ab'.repeat(16);
  const linksOf = async (id: string) => {
    await client().run(id).result();
    const { spans } = await traceOf(served.host.ports, id as WorkflowId);
    return spans.find(({ parentSpanId }) => parentSpanId === null)?.links;
  };

  it('is what the run’s links to, by the header that says so', async () => {
    const spanId = 'cd'.repeat(8);
    await client().start('greet', { name: 'Ana' }, { id: 'traced-1', traceparent: `00-${traceId}-${spanId}-01` });
    expect(await linksOf('traced-1')).toMatchObject([{ traceId, spanId, attributes: { 'tidemark.link': 'caller' } }]);
  });

  it.each([
    ['none', '00-no-trace'],
    ['one that is all zeros', `00-${traceId}-${'0'.repeat(16)}-01`],
    ['one with more than its version has', `00-${traceId}-${'cd'.repeat(8)}-01-more`],
  ])('that is %s is no reason to refuse a start', async (_, trace) => {
    const id = `untraced-${trace.length}-${trace.at(-1)}`;
    await client().start('greet', { name: 'Ana' }, { id, traceparent: trace });
    expect(await linksOf(id)).toEqual([]);
  });
});

describe('the past', () => {
  it('is told at any checkpoint, forked from, and compared', async () => {
    const run = await client().start('greet', { name: 'Ana' }, { id: 'past-1' });
    await run.result();
    const opening = await run.at(0);
    expect(opening).toMatchObject({
      sequence_number: 0,
      belief: {},
      frontier: [{ step: 'compose' }],
      last_checkpoint: null,
    });
    expect(await run.at(1)).toMatchObject({ belief: { greeting: 'Hello, Ana!' }, frontier: [{ step: 'say' }] });
    await expect(run.at(9)).rejects.toMatchObject({ status: 404, code: 'sequence-unknown' });
    const fork = await run.fork({ at: 0, effects: 'live', id: 'past-1-fork' });
    expect(fork.created).toBe(true);
    expect((await run.fork({ at: 0, effects: 'live', id: 'past-1-fork' })).created).toBe(false);
    expect(await fork.result()).toEqual({ text: 'Hello, Ana!' });
    const compared = await client().ask('GET /v1/workflows/{workflow}/comparison/{other}', {
      params: { workflow: run.id, other: fork.id },
    });
    expect(compared).toMatchObject({ same_outcome: true, first_difference: null });
    const calls = { params: { workflow: run.id, sequence: 1 } };
    await expect(client().ask('GET /v1/workflows/{workflow}/at/{sequence}/calls', calls)).rejects.toMatchObject({
      code: 'no-model-call',
    });
    expect(await client('viewer').run('past-1').at(1)).not.toHaveProperty('belief');
  });
});

describe('a life', () => {
  it('is paused, resumed, cancelled and ended from outside', async () => {
    const run = await client().start('patient', {}, { id: 'life-1' });
    expect(await run.pause('a while')).toEqual({ workflow: 'life-1', changed: true });
    expect(await run.pause('a while')).toMatchObject({ changed: false });
    expect(await run.get()).toMatchObject({ status: 'open', reason: 'paused' });
    expect(await run.resume('again')).toMatchObject({ changed: true });
    expect(await run.cancel('no more')).toMatchObject({ changed: true });
    await expect(run.result()).rejects.toMatchObject({ code: 'workflow-failed' });
    expect(await run.cancel('no more')).toMatchObject({ changed: false });
    await expect(run.pause('too late')).rejects.toMatchObject({ status: 409, code: 'workflow-closed' });
    const other = await client().start('patient', {}, { id: 'life-2' });
    await other.terminate('at once');
    expect(await other.outcome()).toMatchObject({ status: 'failed', reason: 'terminated' });
  });
});

describe('budgets and sessions', () => {
  it('are set, read and raised', async () => {
    await client().ask('PUT /v1/budgets', { query: { user: 'ana' }, body: { tokens: 100, period: 'day' } });
    const { budgets } = await client().ask('GET /v1/budgets', { query: { user: 'ana' } });
    expect(budgets).toMatchObject([{ of: 'user ana', tokens: 100, cost_micros: null, period: 'day' }]);
    await client().start('patient', {}, { id: 'money-1', user: 'ana' });
    const params = { workflow: 'money-1' };
    await client().ask('POST /v1/workflows/{workflow}/budget', { params, body: { tokens: 5, why: 'more' } });
    const spend = await client().ask('GET /v1/workflows/{workflow}/budget', { params });
    expect(spend).toMatchObject({ user: 'ana', raised: { tokens: 5, cost_micros: 0 } });
  });

  it('of a session tell where it stands', async () => {
    await client().start('patient', {}, { id: 'session-1', session: 's-1', user: 'ben' });
    await expect
      .poll(() => client().list({ session: 's-1' }))
      .toMatchObject({ workflows: [{ workflow: 'session-1' }] });
    const params = { session: 's-1' };
    await client().ask('POST /v1/sessions/{session}/handovers', {
      params,
      body: { from: 'ben', to: 'ana', message: 'go on' },
    });
    const session = await client().ask('GET /v1/sessions/{session}', { params });
    expect(session).toMatchObject({
      is_live: true,
      workflow: { workflow: 'session-1' },
      handovers: [{ message: 'go on' }],
    });
    const unknown = client('operator other').ask('GET /v1/sessions/{session}', { params });
    await expect(unknown).rejects.toMatchObject({ code: 'session-unknown' });
    const recalled = await client().ask('POST /v1/memory/{about}/recall', {
      params: { about: 'user:ben' },
      body: { query: 'anything' },
    });
    expect(recalled).toMatchObject({ by: 'words', entries: [] });
  });
});

describe('the fleet', () => {
  it('is told as a whole, and what waits for people', async () => {
    const run = await client().start('asking', { cents: 1 }, { id: 'fleet-1' });
    await expect.poll(async () => (await run.get()).status).toBe('parked');
    const { questions } = await client().ask('GET /v1/questions', {});
    expect(questions).toMatchObject([{ workflow: { workflow: 'fleet-1' }, question: { code: 'effect-unknown' } }]);
    expect((await client('viewer').ask('GET /v1/questions', {})).questions[0]!.question).not.toHaveProperty('evidence');
    expect((await client('viewer other').ask('GET /v1/questions', {})).questions).toEqual([]);
    const { errors } = await client().ask('GET /v1/errors', {});
    expect(errors).toMatchObject([
      { definition: 'asking', count: 1, parked_count: 1, failed_count: 0, newest: 'fleet-1', code: expect.any(String) },
    ]);
    const [{ fingerprint: error, message }] = errors as [(typeof errors)[number]];
    expect([error, message]).toEqual([expect.stringMatching(/^[0-9a-f]{12}$/), expect.stringMatching(/./)]);
    expect(await client().list({ error })).toMatchObject({ workflows: [{ workflow: 'fleet-1' }] });
    expect((await client().list({ error: 'aaaaaaaaaaaa' })).workflows).toEqual([]);
    const counted = client().ask('POST /v1/jobs/count', { body: { filter: { error } } });
    expect(await counted).toMatchObject({ count: 1, newest: ['fleet-1'] });
    expect((await client('viewer').ask('GET /v1/errors', {})).errors[0]).not.toHaveProperty('message');
    expect((await client('viewer other').ask('GET /v1/errors', {})).errors).toEqual([]);
    const fleet = await client().ask('GET /v1/fleet', {});
    expect(fleet.workflows).toContainEqual({ status: 'parked', count: 1 });
    expect(fleet).toMatchObject({ rows_ready: true, workers: [{ alive: true }], running_count: expect.any(Number) });
    expect(await client('viewer other').ask('GET /v1/fleet', {})).toMatchObject({
      workflows: [],
      workers: [],
      ready_count: null,
      lag: null,
      partition_count: null,
      events_per_second: null,
    });
    await client().ask('GET /v1/rejected', {});
    expect((await client().ask('GET /v1/storage', {})).storage.length).toBeGreaterThan(0);
    expect(await client('admin other').ask('GET /v1/storage', {})).toEqual({ log_bytes: null, storage: [] });
    const segments = await client().ask('GET /v1/workflows/{workflow}/segments', { params: { workflow: 'fleet-1' } });
    expect(segments).toEqual({ segments: [], has_rows: true, next_cursor: null });
    await run.decide({ resolution: 'fail', why: 'no' });
    await expect.poll(async () => (await run.get()).status).toBe('failed');
  });

  it('is followed by lists, each tenant its own', async () => {
    const ended = new AbortController();
    const seen = { all: new Map<string, string>(), other: new Map<string, string>() };
    const follow = async (into: Map<string, string>, token: string): Promise<void> => {
      for await (const { name, data } of client(token).changes({ signal: ended.signal })) {
        // What earlier tests left may be ending still.
        if (name === 'workflow' && data.workflow.startsWith('change-')) into.set(data.workflow, data.status);
      }
    };
    const following = [follow(seen.all, 'admin'), follow(seen.other, 'viewer other')];
    await expect.poll(() => served.streams.size).toBe(2);
    const run = await client().start('patient', {}, { id: 'change-1' });
    const other = await client('operator other').start('patient', {}, { id: 'change-2' });
    await expect.poll(() => [...seen.all.keys()].toSorted()).toEqual(['change-1', 'change-2']);
    await run.signal('go');
    await other.signal('go');
    await expect.poll(() => seen.all.get('change-1')).toBe('completed');
    await expect.poll(() => [...seen.other]).toEqual([['change-2', 'completed']]);
    ended.abort();
    await Promise.all(following);
  });
});
