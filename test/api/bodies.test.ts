/** Bodies that cost more than they are: refused at the first byte too many, unread where nobody takes one, and never in hand beyond their room. */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type ApiOptions, createApi } from '@tidemark/api';
import { noTelemetry } from '@tidemark/ports';
import { sha256Digest, systemClock } from '@tidemark/runtime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { greet, sayingAuthenticator } from './served.ts';

let app: Awaited<ReturnType<typeof createApi>>;
let port: number;
let inHandBytes: number;
let inHandPeakBytes: number;
let refused: string[];
const sockets: Socket[] = [];
/** Starts wait for it. */
let started: PromiseWithResolvers<never>;
let startsCount: number;
beforeEach(() => {
  [inHandBytes, inHandPeakBytes, refused, startsCount] = [0, 0, [], 0];
  started = Promise.withResolvers();
  started.promise.catch(() => {});
});
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await expect.poll(() => inHandBytes).toBe(0);
});
beforeAll(() => listen());
afterAll(() => app.close());

async function listen(options: Partial<ApiOptions> = {}): Promise<void> {
  const telemetry = {
    ...noTelemetry,
    gauge: (name: string, value: number) => {
      expect(name).toBe('request_body_bytes');
      inHandBytes = value;
      inHandPeakBytes = Math.max(inHandPeakBytes, value);
    },
    count: (_: string, __: number, { reason }: Record<string, unknown> = {}) => void refused.push(String(reason)),
  };
  const ports = { clock: systemClock, digest: sha256Digest, store: {}, telemetry };
  const start = () => {
    startsCount++;
    return started.promise;
  };
  app = await createApi({
    ...{ place: { ports, client: { memory: {}, start } } as never, definitions: [greet] },
    ...{ authenticator: sayingAuthenticator, rateMaxCount: 1_000_000, ...options },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  ({ port } = app.server.address() as { readonly port: number });
}

interface Answer {
  readonly status: number;
  readonly code: string | undefined;
  readonly head: string;
}

/** A connection, and its answer once the server has closed it. */
function dial(...pieces: readonly (string | Buffer)[]): { readonly socket: Socket; readonly answer: Promise<Answer> } {
  const socket = connect(port, '127.0.0.1');
  sockets.push(socket);
  let text = '';
  socket.on('data', (bytes) => {
    text += String(bytes);
  });
  socket.on('error', () => {});
  for (const piece of pieces) socket.write(piece);
  const answer = once(socket, 'close').then(() => {
    const [head = '', body = ''] = text.split('\r\n\r\n');
    return {
      status: Number(/^HTTP\/1\.1 (\d{3})/.exec(head)?.[1] ?? 0),
      code: /"code":"([^"]+)"/.exec(body)?.[1],
      head,
    };
  });
  return { socket, answer };
}

const head = (line: string, ...headers: readonly string[]): string =>
  [`${line} HTTP/1.1`, 'Host: localhost', 'Content-Type: application/json', ...headers, '', ''].join('\r\n');
const CHUNKED = 'Transfer-Encoding: chunked';
const as = (who: string): string => `Authorization: Bearer ${who}`;
const ADMIN = as('admin');
/** A body that does not end: each of its pieces is one byte. */
const dribble = (count: number): string => '1\r\n \r\n'.repeat(count);

describe('before a body is read', () => {
  it.each([
    ['of a route that there is not', 'POST /nothing', 404, 'route-unknown'],
    ['of another method', 'PUT /v1/workflows', 404, 'route-unknown'],
    ['of a method that nothing has', 'OPTIONS /v1/workflows', 404, 'route-unknown'],
    ['without credentials', 'POST /v1/jobs/count', 401, 'credentials-missing'],
    ['to read', 'GET /v1/workflows', 400, 'body-unexpected'],
    ['to follow', 'GET /v1/events', 400, 'body-unexpected'],
    ['whether it lives', 'GET /healthz', 400, 'body-unexpected'],
    ['of the document', 'GET /openapi.json', 400, 'body-unexpected'],
  ])('a request %s is refused, and its connection closed', async (_, line, status, code) => {
    // More than a connection buffers unread, and it never ends.
    const { answer } = dial(head(line, CHUNKED), dribble(200_000));
    expect(await answer).toMatchObject({ status, code });
    expect((await answer).head).toMatch(/connection: close/i);
    expect(inHandBytes).toBe(0);
    expect(inHandPeakBytes).toBeLessThan(100_000);
  });

  it('a HEAD is refused alike', async () => {
    expect(await dial(head('HEAD /healthz', CHUNKED), dribble(10)).answer).toMatchObject({ status: 400 });
  });

  it('what says to be too large is refused by its word', async () => {
    const large = dial(head('POST /v1/jobs/count', ADMIN, 'Content-Length: 4194305'));
    expect(await large.answer).toMatchObject({ status: 413, code: 'body-too-large' });
  });

  it('the same without a body is answered, and its connection kept (control)', async () => {
    const { socket, answer } = dial(head('GET /healthz').repeat(2), head('GET /healthz', 'Connection: close'));
    expect(await answer).toMatchObject({ status: 200 });
    expect(socket.bytesRead).toBeGreaterThan(3 * '{"ok":true}'.length);
  });
});

describe('while a body is read', () => {
  const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;

  it.each([
    ['of pieces of one byte', dribble(2_000), 'body-pieces-too-small'],
    ['of too many values', chunk(`[${'{},'.repeat(100_001)}`), 'json-too-many-values'],
    ['that is too deep', chunk('['.repeat(65)), 'json-too-deep'],
    ['with a key too long', chunk(`{"${'k'.repeat(1_100)}`), 'json-key-too-long'],
    ['that is too large', chunk(' '.repeat(4 * 1_024 * 1_024 + 1)), 'body-too-large'],
  ])('one %s is refused without its end, and told', async (_, body, code) => {
    const { answer } = dial(head('POST /v1/jobs/count', as('viewer acme'), CHUNKED), body);
    expect(await answer).toMatchObject({ status: 413, code });
    expect((await answer).head).toMatch(/connection: close/i);
    expect(refused).toEqual([code]);
    await expect.poll(() => inHandBytes).toBe(0);
  });

  it('a number that would be rounded is refused with its place', async () => {
    const { answer } = dial(head('POST /v1/jobs/count', ADMIN, CHUNKED), chunk('{"act":12345678901234567890,'));
    expect(await answer).toMatchObject({ status: 400, code: 'json-number-inexact' });
  });

  it('as many small pieces as may be are taken (control)', async () => {
    const body = `${dribble(1_000)}${chunk('{}')}0\r\n\r\n`;
    const { answer } = dial(head('POST /v1/jobs/count', ADMIN, CHUNKED, 'Connection: close'), body);
    expect(await answer).toMatchObject({ status: 400, code: 'request-invalid' });
    expect(refused).toEqual([]);
  });
});

describe('bodies in hand', () => {
  beforeAll(async () => {
    await app.close();
    await listen({ bodies: { inHandMaxBytes: 1_000_000 } });
  });

  /** All of it but its end. */
  const open = (who: string, bytes = 100_000) =>
    dial(head('POST /v1/jobs/count', as(who), `Content-Length: ${bytes + 1}`), ' '.repeat(bytes));

  it('have room for so much, of one tenant half of it, and are refused beyond: to come later', async () => {
    const acme = Array.from({ length: 20 }, () => open('viewer acme'));
    const sent: Awaited<(typeof acme)[number]['answer']>[] = [];
    // What is held is answered by nobody.
    for (const { answer } of acme)
      answer.then(
        (one) => sent.push(one),
        () => undefined,
      );
    // One more may be refused while others are told.
    await expect.poll(() => refused.length >= 14 && sent.length === refused.length).toBe(true);
    expect(new Set(sent.map(({ status, code }) => `${status} ${code}`))).toEqual(new Set(['503 bodies-too-many']));
    expect(sent[0]!.head).toMatch(/retry-after: 1/i);
    expect(inHandPeakBytes).toBeLessThanOrEqual(600_000);
    // Others have what is left.
    const before = inHandBytes;
    open('viewer globex');
    await expect.poll(() => inHandBytes).toBe(before + 100_000);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => inHandBytes).toBe(0);
  });

  it('are given back when they were answered, were wrong, or their caller has left', async () => {
    const wrong = open('viewer acme');
    await expect.poll(() => inHandBytes).toBe(100_000);
    wrong.socket.write('x');
    await expect.poll(() => inHandBytes).toBe(0);
    const right = open('viewer acme');
    await expect.poll(() => inHandBytes).toBe(100_000);
    right.socket.write('1');
    await expect.poll(() => inHandBytes).toBe(0);
    const left = open('viewer acme');
    await expect.poll(() => inHandBytes).toBe(100_000);
    left.socket.destroy();
    await expect.poll(() => inHandBytes).toBe(0);
  });

  it('stay as long as what they began, also after their caller has left', async () => {
    const body = JSON.stringify({ definition: 'greet', input: { name: 'x'.repeat(1_000) } });
    const asked = dial(head('POST /v1/workflows', ADMIN, `Content-Length: ${body.length}`), body);
    await expect.poll(() => startsCount).toBe(1);
    const bytesInHand = inHandBytes;
    expect(bytesInHand).toBeGreaterThan(1_000);
    asked.socket.destroy();
    await once(asked.socket, 'close');
    // The server has heard of it by then.
    await fetch(`http://127.0.0.1:${port}/healthz`);
    await expect
      .poll(() => new Promise((resolve) => app.server.getConnections((_, count) => resolve(count))))
      .toBeLessThanOrEqual(1);
    expect(inHandBytes).toBe(bytesInHand);
    started.reject(new Error('at last'));
    await expect.poll(() => inHandBytes).toBe(0);
  });
});

describe('a request that can be understood in two ways', () => {
  const BODY = 'GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n';
  it.each([
    ['two hosts', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n'],
    ['the same host twice', 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n\r\n'],
    ['another host in its address', 'GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['two slashes in front of its path', 'GET //evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'],
    ['two credentials', `${head('GET /v1/me', ADMIN, as('viewer acme'))}`],
    ['two types', head('POST /v1/jobs/count', ADMIN, 'Content-Type: text/plain', 'Content-Length: 2').concat('{}')],
    ['two lengths', head('POST /v1/jobs/count', ADMIN, 'Content-Length: 2', 'Content-Length: 30').concat(BODY)],
    [
      'the same length twice',
      head('POST /v1/jobs/count', ADMIN, 'Content-Length: 2', 'Content-Length: 2').concat('{}'),
    ],
    ['a list of lengths', head('POST /v1/jobs/count', ADMIN, 'Content-Length: 2, 2').concat('{}')],
    ['a length and pieces', head('POST /v1/jobs/count', ADMIN, 'Content-Length: 2', CHUNKED).concat('0\r\n\r\n', BODY)],
    ['pieces twice', head('POST /v1/jobs/count', ADMIN, CHUNKED, CHUNKED).concat('0\r\n\r\n')],
    [
      'pieces that are packed',
      head('POST /v1/jobs/count', ADMIN, 'Transfer-Encoding: gzip, chunked').concat('0\r\n\r\n'),
    ],
    ['pieces last and something after', head('POST /v1/jobs/count', ADMIN, 'Transfer-Encoding: chunked, gzip')],
    ['no host', 'GET /healthz HTTP/1.1\r\n\r\n'],
  ])('with %s is refused', async (_, text) => {
    const { socket, answer } = dial(text);
    socket.end();
    expect(await answer).toMatchObject({ status: 400 });
    // Nothing in it was taken for a second request.
    expect((await answer).head).not.toMatch(/200 OK/);
  });

  it('with its own host in its address is answered (control)', async () => {
    const { socket, answer } = dial('GET http://LOCALHOST:7070/healthz HTTP/1.1\r\nHost: localhost:7070\r\n\r\n');
    socket.end();
    expect(await answer).toMatchObject({ status: 200 });
    const usual = dial('GET http://localhost:80/healthz HTTP/1.1\r\nHost: localhost:80\r\n\r\n');
    usual.socket.end();
    expect(await usual.answer).toMatchObject({ status: 200 });
  });
});

it('large bodies count as many requests, of their caller alone', async () => {
  await app.close();
  await listen({ rateMaxCount: 9 });
  const ask = (who: string, body: string) =>
    dial(head('POST /v1/jobs/count', as(who), `Content-Length: ${body.length}`, 'Connection: close'), body).answer;
  const values = `[${'0,'.repeat(10_000)}0]`;
  // A megabyte, with what its values take.
  expect(await ask('viewer acme', values)).toMatchObject({ status: 400 });
  expect(await ask('viewer acme', '[]')).toMatchObject({ status: 400 });
  expect(await ask('viewer acme', ' '.repeat(1_000_000))).toMatchObject({ status: 429, code: 'rate-exceeded' });
  // The control: small ones, and those of others.
  for (let count = 0; count < 5; count++) expect(await ask('viewer globex', '[0]')).toMatchObject({ status: 400 });
});
