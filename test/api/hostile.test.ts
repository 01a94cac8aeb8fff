/** What nobody well-meaning sends: refused with a clear code, nothing lost, nothing shown, and the server goes on as before. */

import { request } from 'node:http';
import { createApi } from '@tidemark/api';
import { connect } from '@tidemark/client';
import { InvalidError } from '@tidemark/core';
import type { AuditEntry, Credentials } from '@tidemark/ports';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { askSomebody, greet, patient, type Served, sayingAuthenticator, serveApi } from './served.ts';

/** As in the API's limits. */
const [BODY_MAX_BYTES, DEPTH_MAX, URL_MAX_CHARS, REFUSED_MAX_COUNT] = [4 * 1_024 * 1_024, 64, 8_192, 120];
const [WORK_LEFT_MAX_COUNT, OPEN_MAX_COUNT] = [500, 6_000];

let served: Served;
const faults: unknown[] = [];
const written: AuditEntry[] = [];
beforeAll(async () => {
  served = await serveApi({
    authenticator: sayingAuthenticator,
    definitions: [greet, patient, askSomebody] as never,
    audit: {
      admit: () => {},
      record: (entry) => void written.push(entry),
      write: async (entry) => void written.push(entry),
    },
    onError: (_where, error) => faults.push(error),
  });
});
afterAll(() => served.close());
afterEach(() => expect(faults).toEqual([]));

const admin = () => connect({ url: served.url, token: 'admin' });

async function send(
  body: string | Buffer<ArrayBuffer>,
  headers: Readonly<Record<string, string>> = {},
  path = '/v1/workflows',
) {
  const answer = await fetch(`${served.url}${path}`, {
    method: 'POST',
    headers: { authorization: 'Bearer admin', 'content-type': 'application/json', ...headers },
    body,
  });
  expect(answer.headers.get('content-type')).toMatch(answer.ok ? /^application\/json/ : /^application\/problem\+json/);
  const { code, detail } = (await answer.json()) as { readonly code?: string; readonly detail?: string };
  return { status: answer.status, code, detail };
}
const start = (input: string): string => `{"definition":"patient","input":${input}}`;

describe('a body', () => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);

  it.each([
    ['deeper than any program writes', deep(DEPTH_MAX + 1), 413, 'json-too-deep'],
    ['as deep as a megabyte allows', '['.repeat(1_000_000), 413, 'json-too-deep'],
    ['larger than may be', start(`"${'x'.repeat(BODY_MAX_BYTES)}"`), 413, 'body-too-large'],
    ['that is no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d]), 400, 'body-invalid'],
    ['with half of a character', start('{"times":"\\ud800"}'), 400, 'body-invalid'],
    ['with a NUL character in a key', start('{"a\\u0000":1}'), 400, 'body-invalid'],
    ['that would change prototypes', '{"definition":"patient","__proto__":{"tenant":"x"}}', 400, 'request-invalid'],
    ['that would by its constructor', start('{"constructor":{"prototype":{"x":1}}}'), 400, 'request-invalid'],
    ['that is no JSON', '{"definition":', 400, 'request-invalid'],
    ['that is empty', '', 400, 'request-invalid'],
    ['that is no object', '[]', 400, 'request-invalid'],
    ['with fields that nobody knows', '{"definition":"patient","input":{},"is_admin":true}', 400, 'request-invalid'],
    ['of too many values', start(`[${'{},'.repeat(200_000)}{}]`), 413, 'json-too-many-values'],
    ['with a key too long', start(`{"${'x'.repeat(1_025)}":1}`), 413, 'json-key-too-long'],
    ['with a number beyond numbers', start('{"times":1e999}'), 400, 'json-number-inexact'],
    ['with a number that would be rounded', start('{"times":9007199254740993}'), 400, 'json-number-inexact'],
    ['with a number longer than any', start(`{"times":1.${'1'.repeat(80)}}`), 413, 'json-number-too-long'],
  ])('%s is refused', async (_, body, status, code) => {
    const answer = await send(body);
    expect(answer.status).toBe(status);
    if (code !== undefined) expect(answer.code).toBe(code);
    expect(({} as { readonly x?: number; readonly tenant?: string }).x).toBeUndefined();
  });

  it('is told from no JSON where a key of it is refused', async () => {
    expect((await send('{"__proto__":{}}')).detail).toMatch(/keys named __proto__/);
    expect((await send('{"__proto__":')).detail).toMatch(/not valid JSON/);
  });

  it('is not given back by the answer, whatever is wrong with it', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 9_000 }, (_, at) => [`${'k'.repeat(400)}${at}`, 0]));
    const answer = await send(JSON.stringify({ definition: 'patient', ...unknown }));
    expect(answer).toMatchObject({ status: 400, code: 'request-invalid' });
    expect(JSON.stringify(answer).length).toBeLessThan(8_192);
  });

  it('of another type is refused', async () => {
    for (const type of ['text/plain', 'application/xml', 'multipart/form-data; boundary=x']) {
      expect(await send('{}', { 'content-type': type })).toMatchObject({ status: 415, code: 'body-type-unknown' });
    }
  });

  it('as deep and as large as may be is taken (control)', async () => {
    const run = await admin().start('patient', { times: 1 }, { id: 'control' });
    const value = JSON.parse(deep(DEPTH_MAX - 1)) as never;
    await run.signal('go', value);
    expect(await run.result()).toEqual({ heard: [value] });
  });
});

const HOSTILE = [
  "'; drop table workflows; --",
  '" or 1=1 --',
  '<script>alert(1)</script>',
  '../../../etc/passwd',
  '{{7*7}}',
  '__proto__',
  'constructor',
  '%00%0a',
  '\u202eright to left',
  '𝕏'.repeat(40),
];

it.each(['1e3', '0x10', '', ' 1', '9007199254740993', '9'.repeat(400)])(
  "a number written '%s' is refused",
  async (from) => {
    const address = `${served.url}/v1/workflows/nobody/timeline?from=${encodeURIComponent(from)}`;
    const answer = await fetch(address, { headers: { authorization: 'Bearer admin' } });
    expect(await answer.json()).toMatchObject({
      status: 400,
      detail: expect.stringContaining('query.from: give a whole number'),
    });
  },
);

it('an id of the last event that is no number is refused, and what it should be is said', async () => {
  const run = await admin().start('patient', {}, { id: 'last-event' });
  const headers = { authorization: 'Bearer admin', 'last-event-id': 'abc' };
  const answer = await fetch(`${served.url}/v1/workflows/${run.id}/events`, { headers });
  expect(await answer.json()).toMatchObject({
    status: 400,
    detail: expect.stringContaining('Last-Event-ID: give the id of the last event'),
  });
});

describe('hostile text', () => {
  it.each(HOSTILE)('%s is a name like any other', async (text) => {
    const run = await admin().start('patient', {}, { id: `${text}:1`, user: text, tags: [text] });
    expect(await run.get()).toMatchObject({ workflow: `${text}:1`, user: text, tags: [text] });
    const { workflows } = await admin().list({ tag: text, user: text });
    expect(workflows.map(({ workflow }) => workflow)).toEqual([`${text}:1`]);
    await run.signal('go', { text });
    expect(await run.result()).toEqual({ heard: [{ text }] });
  });

  it('in every place of an address is answered, and never by a failure', async () => {
    const paths = HOSTILE.map(encodeURIComponent).flatMap((text) => [
      ...[`workflows/${text}`, `workflows/${text}/at/${text}`, `sessions/${text}`, `jobs/${text}`, `budgets/${text}`],
      ...['tag', 'text', 'status', 'cursor', 'limit', 'tenant', 'opened_after'].map(
        (name) => `workflows?${name}=${text}`,
      ),
      `approvals?assignee=${text}&cursor=${text}`,
    ]);
    const statuses = new Set<number>();
    for (const path of [
      ...paths,
      'workflows/%ff%fe',
      'workflows/%',
      'workflows?limit=-1&limit=2',
      'workflows?__proto__=1',
    ]) {
      const answer = await fetch(`${served.url}/v1/${path}`, { headers: { authorization: 'Bearer admin' } });
      expect(answer.headers.get('content-type'), path).toMatch(/^application\/(problem\+)?json/);
      await answer.text();
      statuses.add(answer.status);
    }
    expect([...statuses].filter((status) => ![200, 400, 404].includes(status))).toEqual([]);
  });
});

describe('what is no request that can be read', () => {
  it('an address that is too long is told as a problem', async () => {
    const answer = await fetch(`${served.url}/v1/workflows?text=${'x'.repeat(20_000)}`, {
      headers: { authorization: 'Bearer admin' },
    });
    expect([answer.status, answer.headers.get('content-type')]).toEqual([431, 'application/problem+json']);
    expect(await answer.json()).toMatchObject({ status: 431, code: 'headers-too-long' });
  });
});

describe('a forged cursor', () => {
  const forged = (content: unknown): string => Buffer.from(JSON.stringify(content)).toString('base64url');
  const answerOf = async (path: string, cursor: string) => {
    const answer = await fetch(`${served.url}/v1/${path}?cursor=${cursor}`, {
      headers: { authorization: 'Bearer admin' },
    });
    const { code, detail } = (await answer.json()) as { readonly code?: string; readonly detail?: string };
    return { status: answer.status, code, detail };
  };
  const refused = { status: 400, code: 'cursor-invalid', detail: expect.stringMatching(/^cursor: /) };
  const named = (text: string): unknown => [text];
  const placed = (text: string): unknown => [1, text];
  /** Where there is no text, one in place of a number. */
  const numbers =
    (...place: readonly number[]) =>
    (text: string): unknown =>
      text === 'x' ? place : place.with(-1, text as never);
  const PLACES: readonly (readonly [string, (text: string) => unknown])[] = [
    ['workflows', placed],
    ['questions', placed],
    ['audit', placed],
    ['approvals', (text) => [1, text, '1.0']],
    ['workflows/{workflow}/children', named],
    ['keys', named],
    ['tenants', named],
    ['jobs', placed],
    ['leases', named],
    ['schedules', placed],
    ['rejected', numbers(1, 0, 0)],
    ['workflows/{workflow}/calls', (text) => ['1.0', text]],
    ['workflows/{workflow}/notes', numbers(1)],
    ['workflows/{workflow}/segments', numbers(0, 0)],
    ['records/{subject}', named],
    ['workflows/{workflow}/tasks', (text) => [text === 'x' ? '1.0' : text]],
  ];

  it.each(PLACES)('of %s is refused as such', async (path, of) => {
    await admin().start('patient', {}, { id: 'forged' });
    const address = path.replace('{workflow}', 'forged').replace('{subject}', 'pipeline:forged');
    expect(await answerOf(address, forged(of('x')))).toMatchObject({ status: 200 });
    const texts = ['a\0b', '\ud800', 'x'.repeat(2_001)].map(of);
    for (const content of [...texts, [of('x')], null, {}, ['x', 'x', 'x', 'x']]) {
      expect(await answerOf(address, forged(content)), JSON.stringify(content)).toEqual(refused);
    }
    for (const cursor of ['x', Buffer.from([0x5b, 0x22, 0xff, 0x22, 0x5d]).toString('base64url')]) {
      expect(await answerOf(address, cursor), cursor).toEqual(refused);
    }
  });

  it('has been tried at every route that takes one', async () => {
    const { paths } = (await (await fetch(`${served.url}/openapi.json`)).json()) as {
      readonly paths: Readonly<
        Record<string, { readonly get?: { readonly parameters?: readonly { name: string }[] } }>
      >;
    };
    const taking = Object.entries(paths).filter(([, { get }]) =>
      get?.parameters?.some(({ name }) => name === 'cursor'),
    );
    expect(taking.map(([path]) => path).sort()).toEqual(PLACES.map(([path]) => `/v1/${path}`).sort());
  });
});

describe("in the system's own tenant", () => {
  const tenant = '~tidemark';
  it.each([
    ['a workflow', 'POST', 'workflows', { definition: 'patient', input: {}, tenant }],
    ['a schedule', 'PUT', 'schedules/s', { definition: 'patient', input: {}, cron: '0 0 1 1 *', tenant }],
    ['a budget', 'PUT', `budgets?tenant=${tenant}`, { tokens: 1 }],
    ['a hand-over', 'POST', `sessions/s/handovers?tenant=${tenant}`, { from: 'ana', to: 'bo', message: 'x' }],
    ['a paused queue', 'POST', 'queues/patient/pause', { why: 'x', tenant }],
    ['a job', 'POST', 'jobs', { act: 'pause', filter: { definition: 'patient', tenant }, why: 'x' }],
  ])('%s is refused', async (_, method, path, body) => {
    const answer = await fetch(`${served.url}/v1/${path}`, {
      method,
      headers: { authorization: 'Bearer admin', 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(await answer.json()).toMatchObject({ status: 400, code: 'tenant-invalid' });
  });
});

describe('a request', () => {
  const inject = async (
    options: Partial<Parameters<typeof createApi>[0]>,
    asked: readonly Readonly<Record<string, unknown>>[],
  ) => {
    const app = await createApi({
      ...{ place: served.host, definitions: served.definitions, authenticator: sayingAuthenticator },
      ...options,
    });
    try {
      const codes: (readonly [number, unknown, boolean])[] = [];
      for (const request of asked) {
        const { statusCode, body, headers } = await app.inject({ url: '/v1/workflows', ...request });
        const { code } = JSON.parse(body) as { readonly code?: string };
        codes.push([statusCode, code, headers['retry-after'] !== undefined]);
      }
      return codes;
    } finally {
      await app.close();
    }
  };
  const authorization = 'Bearer admin';

  it('that comes from another page, to another host, too long, or with credentials in its address is refused', async () => {
    const host = 'tidemark.example';
    const codes = await inject({ hosts: [host] }, [
      { headers: { authorization, host } },
      { headers: { authorization, host: 'evil.example' } },
      { headers: { authorization, host, origin: 'https://evil.example' } },
      { headers: { authorization, host }, url: `/v1/workflows?text=${'x'.repeat(URL_MAX_CHARS)}` },
      { headers: { authorization, host }, url: '/v1/workflows?access_token=admin' },
    ]);
    expect(codes).toEqual([
      [200, undefined, false],
      [403, 'host-refused', false],
      [403, 'origin-refused', false],
      [414, 'address-too-long', false],
      [400, 'credentials-in-query', false],
    ]);
  });

  it('is one too many after as many as may be, for its caller alone', async () => {
    const mine = { headers: { authorization: 'Bearer viewer acme' } };
    const codes = await inject({ rateMaxCount: 2 }, [mine, mine, mine, { headers: { authorization } }]);
    expect(codes).toEqual([
      [200, undefined, false],
      [200, undefined, false],
      [429, 'rate-exceeded', true],
      [200, undefined, false],
    ]);
  });

  it('is refused before anything begins where too many were left behind, and others and reads are answered', async () => {
    let begunCount = 0;
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const client = new Proxy(served.host.client, {
      get: (target, name) => (name === 'start' ? stuck : Reflect.get(target, name)),
    });
    const stuck = async () => {
      begunCount++;
      await ended;
      throw new InvalidError('request-invalid', 'at last');
    };
    const app = await createApi({
      ...{ place: { ports: served.host.ports, client }, definitions: served.definitions },
      authenticator: sayingAuthenticator,
    });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const start = (tenant: string, signal: AbortSignal | null = null) =>
      fetch(`${url}/v1/workflows`, {
        method: 'POST',
        headers: { authorization: `Bearer operator ${tenant}`, 'content-type': 'application/json' },
        body: JSON.stringify({ definition: 'greet', input: { name: 'Ana' } }),
        signal,
      });
    try {
      const leaving = new AbortController();
      const left = Array.from({ length: WORK_LEFT_MAX_COUNT }, () => start('acme', leaving.signal).catch(() => 'left'));
      await expect.poll(() => begunCount).toBe(WORK_LEFT_MAX_COUNT);
      leaving.abort();
      await Promise.all(left);
      // The server sees soon that they have gone.
      const asked = async () => (await start('acme', AbortSignal.timeout(1_000)).catch(() => undefined))?.status;
      await expect.poll(asked).toBe(429);
      const refused = await start('acme');
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(await refused.json()).toMatchObject({ code: 'requests-too-many' });
      const list = await fetch(`${url}/v1/workflows`, { headers: { authorization: 'Bearer operator acme' } });
      expect(list.status).toBe(200);
      const other = start('globex');
      end();
      expect((await other).status).toBe(400);
      await expect.poll(async () => (await start('acme')).status).toBe(400);
    } finally {
      end();
      await app.close();
    }
  });

  it('with wrong credentials again and again is told to come later', async () => {
    const wrong = { headers: { authorization: 'Basic eA==' } };
    const codes = await inject(
      {},
      Array.from({ length: REFUSED_MAX_COUNT + 2 }, () => wrong),
    );
    expect(codes.at(REFUSED_MAX_COUNT - 1)).toEqual([401, 'credentials-missing', false]);
    expect(codes.at(-1)).toEqual([429, 'rate-exceeded', true]);
  });

  it('with good credentials is answered, however many wrong ones came from the same address', async () => {
    const wrong = { headers: { authorization: 'Basic eA==' } };
    const good = { headers: { authorization: 'Bearer admin' } };
    const codes = await inject({}, [...Array.from({ length: REFUSED_MAX_COUNT + 1 }, () => wrong), good]);
    expect(codes.slice(-2).map(([status]) => status)).toEqual([429, 200]);
  });

  it('with wrong credentials is judged now and then alone, once that is too much; what is known as good always', async () => {
    let judgedCount = 0;
    const authenticator = {
      authenticate: (credentials: Credentials) => {
        judgedCount++;
        return sayingAuthenticator.authenticate(credentials);
      },
    };
    const [wrong, good] = ['Basic eA==', 'Bearer admin'].map((authorization) => ({ headers: { authorization } }));
    const flood = Array.from({ length: REFUSED_MAX_COUNT * 5 }, () => wrong!);
    const codes = await inject({ authenticator }, [good!, ...flood, good!]);
    expect(codes.at(-1)).toEqual([200, undefined, false]);
    expect(codes.at(-2)).toEqual([429, 'rate-exceeded', true]);
    // Without the limit all of them are.
    expect(judgedCount).toBeLessThan(REFUSED_MAX_COUNT * 3);
  });

  it('of what needs no credentials is too much from one address at last, and what lives is told still', async () => {
    const ask = (url: string, remoteAddress = '203.0.113.5') => ({ url, remoteAddress });
    const flood = Array.from({ length: OPEN_MAX_COUNT + 1 }, () => ask('/no/such/file'));
    const more = [ask('/openapi.json'), ask('/healthz'), ask('/openapi.json', '203.0.113.6')];
    const codes = await inject({}, [...flood, ...more]);
    expect(codes.slice(-4).map(([status]) => status)).toEqual([429, 429, 200, 200]);
  });

  describe('with wrong credentials, through a proxy', () => {
    const wrong = (client: string, remoteAddress = '10.0.0.1') => ({
      remoteAddress,
      headers: { authorization: 'Basic eA==', 'x-forwarded-for': client },
    });
    const guesses = Array.from({ length: REFUSED_MAX_COUNT + 1 }, () => wrong('203.0.113.5'));
    const statusOf = async (trustedProxies: readonly string[] | undefined, ...then: ReturnType<typeof wrong>[]) =>
      (await inject({ trustedProxies }, [...guesses, ...then])).slice(guesses.length).map(([status]) => status);

    it('has its client’s address where the proxy is trusted, and only from there', async () => {
      const trusted = ['10.0.0.0/24', 'fd00::1'];
      const [other, same, forged] = [wrong('203.0.113.6'), wrong('203.0.113.5'), wrong('203.0.113.5', '10.0.1.1')];
      expect(await statusOf(trusted, other, same, forged)).toEqual([401, 429, 401]);
      // What a client wrote before the proxy's own word counts for nothing.
      expect(await statusOf(trusted, wrong('203.0.113.6, 203.0.113.5'))).toEqual([429]);
    });

    it.each([[undefined], [[]]])('has the proxy’s where none is (%j)', async (trusted) => {
      expect(await statusOf(trusted, wrong('203.0.113.6'), wrong('203.0.113.5', '10.0.1.1'))).toEqual([429, 401]);
    });
  });

  it.each([
    ['events', 404],
    ['workflows/headed/events', 404],
    // The control: what ends by itself can be asked so.
    ['fleet', 200],
    ['workflows/headed', 200],
  ])('for the head of %s is answered with %i, and opens no stream', async (path, status) => {
    await admin().start('patient', {}, { id: 'headed' });
    const answer = await fetch(`${served.url}/v1/${path}`, {
      method: 'HEAD',
      headers: { authorization: 'Bearer admin' },
      signal: AbortSignal.timeout(10_000),
    });
    expect(answer.status).toBe(status);
    expect(served.streams.size).toBe(0);
  });

  it('that is sent many times at once begins one run, and counts once', async () => {
    const runs = await Promise.all(Array.from({ length: 10 }, () => admin().start('patient', {}, { id: 'doubled' })));
    expect(runs.filter(({ created }) => created)).toHaveLength(1);
    const signals = Array.from({ length: 10 }, () => admin().run('doubled').signal('go', 'once', { key: 'k' }));
    expect((await Promise.allSettled(signals)).filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(
      0,
    );
    expect(await runs[0]!.result()).toEqual({ heard: ['once'] });
  });
});

describe('the audit', () => {
  const asked = async (path: string, token = 'operator', body?: object) => {
    written.length = 0;
    const headers = {
      authorization: `Bearer ${token}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const sent = body !== undefined && { method: 'POST', body: JSON.stringify(body) };
    const answer = await fetch(`${served.url}${path}`, { headers, ...sent });
    expect(answer.status, path).toBeLessThan(300);
    await answer.text();
    return written.map(({ target, tenant }) => [target, tenant]);
  };

  it('names everything whose content was shown, with its tenant', async () => {
    const start = (id: string, more: object = {}) =>
      admin().start('greet', { name: 'Ana' }, { id, tenant: 'acme', ...more } as never);
    await (await start('audited-one', { session: 'talk', user: 'bob' })).result();
    await (await start('audited-two')).result();
    expect(await asked('/v1/workflows/audited-one/comparison/audited-two')).toEqual([
      ['audited-one', 'acme'],
      ['audited-two', 'acme'],
    ]);
    expect(await asked('/v1/sessions/talk?tenant=acme')).toEqual([['talk', 'acme']]);
    const recalled = (about: string) => asked(`/v1/memory/${about}/recall?tenant=acme`, 'operator', { query: 'x' });
    expect(await recalled('user:bob')).toEqual([['user:bob', 'acme']]);
    expect(await recalled('tenant')).toEqual([['tenant', 'acme']]);
    await admin().start('ask-somebody', {}, { id: 'audited-asks', tenant: 'acme' } as never);
    await expect.poll(() => asked('/v1/approvals')).toEqual([['audited-asks', 'acme']]);
    // A viewer is shown nothing of it.
    expect(await asked('/v1/approvals', 'viewer')).toEqual([]);
  });

  it('tells what came of an act whose caller has left', async () => {
    const { client } = served.host;
    const run = await admin().start('patient', { times: 2 }, { id: 'left-alone' });
    await expect.poll(() => run.get().then(({ status }) => status)).toBe('open');
    const terminate = client.terminate.bind(client);
    let leave = (): void => {};
    client.terminate = async (...of) => {
      // Gone before it is done, as the server sees it.
      const closed = new Promise<void>((resolve) => served.app.server.once('left', resolve));
      leave();
      await closed;
      return terminate(...of);
    };
    written.length = 0;
    served.app.server.once('request', ({ socket }) => socket.once('close', () => served.app.server.emit('left')));
    const authorization = { authorization: 'Bearer operator', 'content-type': 'application/json' };
    const address = `${served.url}/v1/workflows/left-alone/terminate`;
    const sent = request(address, { method: 'POST', agent: false, headers: authorization });
    sent.on('error', () => {});
    leave = () => sent.destroy();
    sent.end('{"why":"unseen"}');
    await expect.poll(() => written.length).toBeGreaterThan(0);
    Reflect.deleteProperty(client, 'terminate');
    expect(written).toMatchObject([{ action: 'terminateWorkflow', target: 'left-alone', outcome: 'done' }]);
    expect(faults.splice(0)).toMatchObject([{ code: 'caller-gone' }]);
  });
});
