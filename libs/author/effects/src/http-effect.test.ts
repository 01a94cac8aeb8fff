/** The HTTP effect against a real server of node:http: what it sends, and what each answer and each fault means. */

import { done, type EffectKey, FatalError, NotDoneError, notDone, pending, unknown } from '@tidemark/sdk';
import { eventually } from '@tidemark/testkit/eventually';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { contextOf } from './context-fixture.ts';
import { type HttpEffectSpec, httpEffect } from './http-effect.ts';
import { EXCERPT_MAX_BYTES } from './http-exchange.ts';
import { EXCERPT_MAX_CHARS } from './http-outcome.ts';
import { type Handler, listen, type Seen } from './http-server-fixture.ts';

const seen: Seen[] = [];
let handler: Handler;
const listenHere = () => listen(seen, (...exchange) => handler(...exchange));

let here: Awaited<ReturnType<typeof listenHere>>;
let there: Awaited<ReturnType<typeof listenHere>>;
beforeAll(async () => {
  here = await listenHere();
  there = await listenHere();
});
afterEach(() => {
  seen.length = 0;
});
afterAll(async () => {
  for (const { server } of [here, there]) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const key = 'order-1:2.0:pay.charge:0' as EffectKey;
const SECRET = 'Bearer sk-live-123456789';
const ok: Handler = (_, response) => response.end('{"id":"c1"}');
const answer =
  (status: number, body = '', headers: Record<string, string> = {}): Handler =>
  (_, response) =>
    response.writeHead(status, headers).end(body);

const schemas = { request: z.object({ cents: z.number() }), response: z.object({ id: z.string() }) };
type Spec = HttpEffectSpec<typeof schemas.request, typeof schemas.response>;
const charge = (extra: Partial<Spec> = {}) =>
  httpEffect({
    operation: 'pay.charge',
    kind: 'irreversible',
    ...schemas,
    send: ({ cents }) => ({ url: `${here.url}/charges`, json: { cents }, headers: { authorization: SECRET } }),
    ...extra,
  });
const call = (extra: Partial<Spec> = {}, signal = new AbortController().signal) =>
  charge(extra).call({ cents: 5 }, contextOf(key, signal));
const failure = (promise: Promise<unknown>): Promise<Error & { code: string; details: Record<string, unknown> }> =>
  promise.then(
    (value) => Promise.reject(new Error(`answered ${JSON.stringify(value)}`)),
    (error) => error,
  );

test('its request is made once a call, when it is sent, and its receiver is one unless it says otherwise', async () => {
  handler = ok;
  const made: number[] = [];
  const send: Spec['send'] = ({ cents }) => {
    made.push(cents);
    return { url: here.url, json: {} };
  };
  const effect = charge({ send, receiver: ({ cents }) => `bank ${cents}` });
  expect(await effect.scopesOf!({ cents: 5 })).toMatchObject([{ isAsked: true }]);
  expect(made).toEqual([]);
  await effect.call({ cents: 5 }, contextOf(key, new AbortController().signal));
  expect(made).toEqual([5]);
  expect(charge().scopesOf).toBeUndefined();
});

describe('what is sent', () => {
  test('the key, the body as JSON, and POST', async () => {
    handler = ok;
    expect(await call()).toEqual({ id: 'c1' });
    expect(seen).toMatchObject([
      {
        method: 'POST',
        path: '/charges',
        body: '{"cents":5}',
        headers: { 'idempotency-key': key, authorization: SECRET, 'content-type': 'application/json' },
      },
    ]);
  });

  test('the key quoted, in a header of another name', async () => {
    handler = ok;
    await call({ keyFormat: 'structured', keyHeader: 'X-Request-Key' });
    expect(seen[0]!.headers).toMatchObject({ 'x-request-key': `"${key}"` });
    expect(seen[0]!.headers['idempotency-key']).toBeUndefined();
  });

  test.each([
    ['ü%"\\ x', '%C3%BC%25%22%5C%20x'],
    ['%C3%BC', '%25C3%25BC'],
  ])('key %j is encoded as %j', async (odd, encoded) => {
    handler = ok;
    await charge().call({ cents: 5 }, contextOf(odd));
    expect(seen[0]!.headers['idempotency-key']).toBe(encoded);
  });

  test.each<[string, Partial<Spec>]>([
    ['a url that is none', { send: () => ({ url: 'nowhere' }) }],
    ['a url of another scheme', { send: () => ({ url: 'file:///etc/passwd' }) }],
    ['credentials in the url', { send: () => ({ url: 'http://u:hush-hush@h/' }) }],
    ['a header with a line break', { send: () => ({ url: here.url, headers: { a: 'hush-hush\r\nb: c' } }) }],
    ['the key header itself', { send: () => ({ url: here.url, headers: { 'idempotency-key': 'x' } }) }],
    ['a body with GET', { send: () => ({ url: here.url, method: 'get', body: 'x' }) }],
    ['json that is none', { send: () => ({ url: here.url, json: 1n }) }],
    ['body and json', { send: () => ({ url: here.url, json: 1, body: 'x' }) }],
    [
      'a send that throws',
      {
        send: () => {
          throw new Error('no such order');
        },
      },
    ],
  ])('%s: nothing was done, and no secret is told', async (_, spec) => {
    const error = await failure(call(spec));
    expect(error).toBeInstanceOf(NotDoneError);
    expect(`${error.message}${error.stack}${JSON.stringify(error)}`).not.toContain('hush-hush');
    expect(seen).toEqual([]);
  });
});

describe('what a status means', () => {
  test.each([200, 201, 202])('%i: done', async (status) => {
    handler = answer(status, '{"id":"c1"}');
    expect(await call()).toEqual({ id: 'c1' });
  });

  test.each([421, 425, 429])('%i: not done, another attempt may be', async (status) => {
    handler = answer(status, 'because');
    const error = await failure(call());
    expect(error).toBeInstanceOf(NotDoneError);
    expect(charge().retry.nonRetryable).not.toContain(error.code);
  });

  test.each([400, 401, 402, 403, 404, 405, 410, 413, 415, 422, 431])('%i: not done, for good', async (status) => {
    handler = answer(status, 'because');
    const error = await failure(call());
    expect(error).toBeInstanceOf(NotDoneError);
    expect(error.message).toBe(`pay.charge: status ${status}: because`);
    expect(charge().retry.nonRetryable).toContain(error.code);
  });

  test.each([302, 303, 304, 408, 409, 423, 500, 501, 502, 503, 504, 599])('%i: unknown', async (status) => {
    handler = answer(status, status === 304 ? '' : 'because');
    expect(await failure(call())).toMatchObject({ code: 'http-unknown', details: { status } });
  });

  test('the time to wait is told', async () => {
    handler = answer(429, '', { 'retry-after': '7' });
    expect(await failure(call())).toMatchObject({
      message: 'pay.charge: status 429, asks to wait 7 s',
      details: { retryAfterMs: 7_000 },
    });
    handler = answer(429, '', { 'retry-after': new Date(Date.now() - 5_000).toUTCString() });
    expect((await failure(call())).details.retryAfterMs).toBe(0);
    handler = answer(429, '', { 'retry-after': 'soon' });
    expect((await failure(call())).details).not.toHaveProperty('retryAfterMs');
  });

  test('who refuses for now has not refused for good, unless the definition says so', async () => {
    handler = answer(403, '', { 'retry-after': '60' });
    expect(await failure(call())).toMatchObject({ code: 'effect-not-done', details: { retryAfterMs: 60_000 } });
    expect(await failure(call({ outcomes: { 403: 'refused' } }))).toMatchObject({ code: 'effect-refused' });
    handler = answer(307, '', { 'retry-after': '60', location: '/elsewhere' });
    expect(await failure(call())).toMatchObject({ code: 'effect-refused' });
  });

  test('a receiver of its own mind', async () => {
    const outcomes = { 503: 'not-done', 404: 'fatal', 409: 'done', 202: 'unknown' } as const;
    handler = answer(503);
    expect(await failure(call({ outcomes }))).toBeInstanceOf(NotDoneError);
    handler = answer(404);
    expect(await failure(call({ outcomes }))).toBeInstanceOf(FatalError);
    handler = answer(409, '{"id":"c0"}');
    expect(await call({ outcomes })).toEqual({ id: 'c0' });
    handler = answer(202);
    expect(await failure(call({ outcomes }))).toMatchObject({ code: 'http-unknown' });
  });
});

describe('the body', () => {
  const long = JSON.stringify({ id: 'x'.repeat(100) });

  test('is read up to the limit', async () => {
    handler = answer(200, long);
    expect(await failure(call({ responseMaxBytes: long.length - 1 }))).toMatchObject({
      code: 'http-response-too-large',
    });
    // Control: one byte more, and it fits.
    expect(await call({ responseMaxBytes: long.length })).toEqual({ id: 'x'.repeat(100) });
  });

  test('an endless one ends the connection, not the process', async () => {
    let gone = false;
    handler = (_, response) => {
      const write = (): void => {
        while (!gone && response.write('x'.repeat(65_536)));
      };
      response.on('close', () => {
        gone = true;
      });
      response.on('drain', write);
      write();
    };
    expect(await failure(call({ responseMaxBytes: 100_000 }))).toMatchObject({ code: 'http-response-too-large' });
    await eventually(() => gone);
  });

  test('that is no JSON leaves the outcome open, and is not quoted', async () => {
    handler = answer(200, '<html>hush-hush');
    const error = await failure(call());
    expect(error).toMatchObject({ code: 'http-response-not-json' });
    expect(error).not.toBeInstanceOf(NotDoneError);
    expect(error.message).not.toContain('hush-hush');
  });

  test('is read by the user', async () => {
    handler = answer(201, '', { location: '/charges/c7' });
    const receive: Spec['receive'] = ({ headers }) => ({ id: headers.get('location')!.split('/').at(-1)! });
    expect(await call({ receive })).toEqual({ id: 'c7' });
  });

  test('may say that the confirmation comes later', async () => {
    handler = answer(202, '{"job":"j1"}');
    const receive: Spec['receive'] = (answered) => pending((answered.json() as { job: string }).job);
    const confirm = { timeoutMs: 60_000 };
    expect(await call({ receive, confirm })).toMatchObject({ token: 'j1' });
    expect(charge({ receive, confirm }).confirm).toMatchObject(confirm);
  });
});

describe('secrets', () => {
  const echo: Handler = ({ headers }, response) => response.writeHead(400).end(JSON.stringify(headers));

  test('that the receiver echoes are blacked out, and the excerpt is bounded', async () => {
    handler = echo;
    const error = await failure(call());
    expect(error.message).toContain('[redacted]');
    expect(JSON.stringify([error.message, error.stack, error.details])).not.toContain('sk-live');
    expect(error.message.length).toBeLessThan(EXCERPT_MAX_CHARS + 50);
    // Control: the body did hold it.
    const plain = await fetch(here.url, { headers: { authorization: SECRET } });
    expect(await plain.text()).toContain('sk-live');
  });

  test('also in what is made of an answer, body and headers, in the forms that receivers write', async () => {
    const password = 'pa/ss "word" & more';
    const basic = `Basic ${Buffer.from(`ana:${password}`).toString('base64')}`;
    const send: Spec['send'] = () => ({
      url: `${here.url}/charges?api_key=key+of+ana&page=seventh`,
      json: 1,
      headers: {
        authorization: basic,
        cookie: 'session=0123456789',
        'x-tenant': 'acme-corp',
        'x-auth-token': 'tok-of-ana',
      },
    });
    const echoed = {
      ...{ basic, password, form: encodeURIComponent(password), session: '0123456789', token: 'tok-of-ana' },
      ...{ key: 'key of ana', page: 'seventh', tenant: 'acme-corp', word: 'session' },
    };
    handler = (_one, response) =>
      response.writeHead(200, { 'x-echo': 'tok-of-ana', 'x-other': 'kept' }).end(JSON.stringify(echoed));
    const receive: Spec['receive'] = (answered) => ({
      id: JSON.stringify([answered.json(), [...answered.headers], answered.text]),
    });
    const { id } = (await call({ send, receive })) as { id: string };
    const [body, headers, text] = JSON.parse(id) as [typeof echoed, [string, string][], string];
    const gone = '[redacted]';
    expect(body).toEqual({
      ...{ basic: gone, password: gone, form: gone, session: gone, token: gone, key: gone },
      // What is no credential stays, or answers would be worth nothing.
      ...{ page: 'seventh', tenant: 'acme-corp', word: 'session' },
    });
    expect(Object.fromEntries(headers)).toMatchObject({ 'x-echo': gone, 'x-other': 'kept' });
    expect(text).not.toContain('of-ana');
    handler = (_one, response) => response.writeHead(400).end(JSON.stringify(echoed));
    const error = await failure(call({ send }));
    expect(JSON.stringify([error.message, error.stack, error.details])).not.toMatch(/of.ana|pa\/ss|pa%2Fss|0123456789/);
  });

  test('also where the excerpt was cut through one', async () => {
    const token = `tok-${'s'.repeat(EXCERPT_MAX_BYTES / 2 + 200)}`;
    handler = answer(400, `${token} ${token}`);
    const send: Spec['send'] = () => ({ url: here.url, json: 1, headers: { 'x-api-key': token } });
    const error = await failure(call({ send }));
    expect(error.message).toBe('pay.charge: status 400: [redacted]');
  });
});

describe('redirects', () => {
  const moved =
    (status: number, to: () => string): Handler =>
    (one, response, request) =>
      one.path === '/charges' && request.headers.host === new URL(here.url).host
        ? response.writeHead(status, { location: to() }).end()
        : response.end('{"id":"followed"}');

  test.each([
    [307, NotDoneError],
    [308, NotDoneError],
  ])('%i of a POST is not followed, so nothing was done', async (status, type) => {
    handler = moved(status, () => `${there.url}/elsewhere`);
    expect(await failure(call())).toBeInstanceOf(type);
    expect(seen).toHaveLength(1);
    // Control: fetch by itself would send it again, elsewhere, with the header of the key.
    await fetch(`${here.url}/charges`, { method: 'POST', headers: { 'idempotency-key': key }, body: '{}' });
    expect(seen.at(-1)).toMatchObject({ method: 'POST', path: '/elsewhere', headers: { 'idempotency-key': key } });
  });

  const get: Spec['send'] = () => ({ url: `${here.url}/charges`, headers: { 'x-api-key': 'hush-hush' } });
  const reading = { kind: 'pure', send: get } as const;

  test('of a GET is followed, with its headers within the origin', async () => {
    handler = moved(302, () => '/elsewhere');
    expect(await call(reading)).toEqual({ id: 'followed' });
    expect(seen[1]!.headers).toMatchObject({ 'x-api-key': 'hush-hush', 'idempotency-key': key });
  });

  test('of a GET to another origin is followed without them', async () => {
    handler = moved(302, () => `${there.url}/elsewhere`);
    expect(await call(reading)).toEqual({ id: 'followed' });
    expect(seen[1]!.headers).not.toHaveProperty('x-api-key');
    expect(seen[1]!.headers).not.toHaveProperty('idempotency-key');
  });

  test('in a circle end', async () => {
    handler = answer(302, '', { location: '/charges' });
    expect(await failure(call(reading))).toMatchObject({ code: 'http-unknown' });
    expect(seen).toHaveLength(6);
  });
});

describe('the network', () => {
  test('refused: not done', async () => {
    const gone = await listenHere();
    await new Promise((resolve) => gone.server.close(resolve));
    const error = await failure(call({ send: () => ({ url: gone.url, json: 1 }) }));
    expect(error).toBeInstanceOf(NotDoneError);
    expect(error.details.reason).toBe('ECONNREFUSED');
  });

  test('a port that no request may go to: not done', async () => {
    const error = await failure(call({ send: () => ({ url: 'http://127.0.0.1:9/', json: 1 }) }));
    expect(error).toBeInstanceOf(NotDoneError);
  });

  test('a name that nobody has: not done', async () => {
    const error = await failure(call({ send: () => ({ url: 'http://nobody.invalid/', json: 1 }) }));
    expect(error).toBeInstanceOf(NotDoneError);
    expect(error.details.reason).toMatch(/ENOTFOUND|EAI_AGAIN/);
  });

  test('no TLS on the other side: not done', async () => {
    handler = ok;
    const error = await failure(call({ send: () => ({ url: here.url.replace('http:', 'https:'), json: 1 }) }));
    expect(error).toBeInstanceOf(NotDoneError);
    expect(seen).toEqual([]);
  });

  test('cut before the answer: unknown, and sent once', async () => {
    handler = (_, response) => response.socket!.destroy();
    expect(await failure(call())).toMatchObject({ code: 'http-cut', name: 'UnavailableError' });
    expect(seen).toHaveLength(1);
  });

  test('cut in the midst of the answer: unknown', async () => {
    handler = (_, response) => {
      response.writeHead(200, { 'content-length': '11' });
      response.write('{"id":', () => response.socket!.destroy());
    };
    expect(await failure(call())).toMatchObject({ code: 'http-cut' });
    // Control: the same answer, whole.
    handler = (_, response) => {
      response.writeHead(200, { 'content-length': '11' });
      response.write('{"id":', () => response.end('"c1"}'));
    };
    expect(await call()).toEqual({ id: 'c1' });
  });

  test('an abort ends the request at once, with its reason', async () => {
    const controller = new AbortController();
    const closed = Promise.withResolvers<void>();
    handler = (_, response) => {
      response.on('close', () => closed.resolve());
      controller.abort(new Error('the lease is gone'));
    };
    expect((await failure(call({}, controller.signal))).message).toBe('the lease is gone');
    await closed.promise;
    const late = await failure(call({}, controller.signal));
    expect(late).toBeInstanceOf(NotDoneError);
    expect(seen).toHaveLength(1);
  });

  test('a receiver that falls silent in its answer is left by the time-out', async () => {
    handler = (_, response) => {
      response.writeHead(200);
      response.write('{');
    };
    expect((await failure(call({}, AbortSignal.timeout(50)))).name).toBe('TimeoutError');
  });
});

describe('probe and compensation', () => {
  const probe: Spec['probe'] = {
    send: (sent) => ({ url: `${here.url}/charges?key=${encodeURIComponent(sent)}` }),
    judge: (answer) => {
      if (answer.status === 200) return done(answer.json() as { id: string });
      return answer.status === 404 ? notDone() : unknown();
    },
  };
  const ask = () => charge({ probe }).probe!(key, { signal: new AbortController().signal, request: null });

  test('the probe asks by the key as it was sent, and changes nothing', async () => {
    handler = ok;
    expect(await ask()).toEqual({ status: 'done', response: { id: 'c1' } });
    expect(seen).toMatchObject([{ method: 'GET', path: `/charges?key=${encodeURIComponent(key)}` }]);
    expect(seen[0]!.headers).not.toHaveProperty('idempotency-key');
    handler = answer(404);
    expect(await ask()).toEqual({ status: 'not-done' });
    handler = answer(403);
    expect(await ask()).toEqual({ status: 'unknown' });
  });

  test('a receiver in trouble, or out of reach, says nothing about the call', async () => {
    for (const away of [answer(503), answer(429), answer(404, '', { 'retry-after': '60' })]) {
      handler = away;
      expect(await failure(ask())).toMatchObject({ code: 'http-unknown' });
    }
    const lost = charge({ probe: { ...probe, send: () => ({ url: 'http://127.0.0.1:9/' }) } });
    const error = await failure(lost.probe!(key, { ...contextOf(key), request: null }));
    expect(error).toMatchObject({ code: 'probe-not-asked' });
    expect(error).not.toBeInstanceOf(NotDoneError);
  });

  test('the compensation is a call with the key that it is given', async () => {
    handler = answer(204);
    const undo = (response: { id: string }) => ({ url: `${here.url}/charges/${response.id}`, method: 'DELETE' });
    const effect = charge({ compensate: { send: undo } });
    const context = contextOf('order-1~undo:0.0:pay.charge:0');
    await effect.compensate!({ id: 'c1' }, context);
    expect(seen).toMatchObject([
      { method: 'DELETE', path: '/charges/c1', headers: { 'idempotency-key': context.key } },
    ]);
    handler = answer(500);
    expect(await failure(effect.compensate!({ id: 'c1' }, context))).toMatchObject({ code: 'http-unknown' });
  });
});
