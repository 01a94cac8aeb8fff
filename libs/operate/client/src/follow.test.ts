/** Who follows for long is judged anew over and over: an expired token ends a connection, and the stream only where no other is given. */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { connect } from './client.ts';

const EXPIRED = { type: 'about:blank', status: 401, code: 'credentials-expired', detail: 'They have expired.' };
const COUNT = 3;

let server: Server;
let url: string;
/** What was shown with each connection, and what had been read. */
let asked: { readonly token: string; readonly from: number }[];

/** One event for each connection; then its token has expired. The old token is known to have. */
beforeEach(async () => {
  asked = [];
  const used = new Set<string>();
  server = createServer((request, response) => {
    const token = (request.headers.authorization ?? '').replace('Bearer ', '');
    const from = Number(request.headers['last-event-id'] ?? 0) + 1;
    asked.push({ token, from });
    if (used.has(token)) {
      response.writeHead(401, { 'content-type': 'application/problem+json' });
      response.end(JSON.stringify(EXPIRED));
      return;
    }
    used.add(token);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`id: ${from}\nevent: event\ndata: {"position":${from}}\n\n`);
    response.end(
      // A stream that restarts does not last forever.
      from === COUNT || asked.length > COUNT
        ? `event: end\ndata: {"position":${from}}\n\n`
        : `event: problem\ndata: ${JSON.stringify(EXPIRED)}\n\n`,
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => new Promise((resolve) => server.close(resolve)));

async function followed(token: string | (() => string)): Promise<readonly number[]> {
  const reported: number[] = [];
  for await (const { name, data } of connect({ url, token }).run('w').events())
    if (name === 'event') reported.push((data as { readonly position: number }).position);
  return reported;
}

it('goes on with the newest token where what it read ends', async () => {
  let n = 0;
  expect(await followed(() => `token ${++n}`)).toEqual([1, 2, 3]);
  expect(asked).toEqual([
    { token: 'token 1', from: 1 },
    { token: 'token 2', from: 2 },
    { token: 'token 3', from: 3 },
  ]);
});

it('ends with what was said where there is no other', async () => {
  await expect(followed('token')).rejects.toMatchObject({ code: 'credentials-expired' });
  expect(asked).toHaveLength(2);
});

it('says so where a server ends a stream in good order: what comes until the next connection is not told', async () => {
  const connections: string[] = [];
  const ending = createServer((request, response) => {
    connections.push(request.url!);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(`event: workflow\ndata: {"workflow":"w${connections.length}"}\n\n`);
  });
  await new Promise<void>((resolve) => ending.listen(0, '127.0.0.1', resolve));
  const at = `http://127.0.0.1:${(ending.address() as AddressInfo).port}`;
  const left = new AbortController();
  let lostCount = 0;
  for await (const _ of connect({ url: at }).changes({ signal: left.signal, onLost: () => void lostCount++ })) {
    if (connections.length === 3) left.abort();
  }
  // The last one was left by who asked.
  expect([connections.length, lostCount]).toEqual([3, 2]);
  await new Promise((resolve) => ending.close(resolve));
});

it('follows no redirection: what is asked, and the credential, are for the address that was named', async () => {
  let isReached = false;
  const elsewhere = createServer((_request, response) => {
    isReached = true;
    response.end('{}');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  const there = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  const redirecting = createServer((_request, response) => response.writeHead(307, { location: there }).end());
  await new Promise<void>((resolve) => redirecting.listen(0, '127.0.0.1', resolve));
  const at = `http://127.0.0.1:${(redirecting.address() as AddressInfo).port}`;
  await expect(connect({ url: at, tries: 1 }).ask('GET /v1/me', {})).rejects.toMatchObject({ status: 0 });
  expect(isReached).toBe(false);
  for (const one of [elsewhere, redirecting]) await new Promise((resolve) => one.close(resolve));
});
