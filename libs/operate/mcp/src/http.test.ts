/** The server over HTTP: the real command and the protocol's own client; and who may not speak to it. */

import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { tenantId } from '@tidemark/core';
import { eventually } from '@tidemark/testkit/eventually';
import { expect, it, onTestFinished } from 'vitest';
import { place } from '../fixtures/mcp-place.ts';
import { type HttpOptions, serveHttp } from './http.ts';

const TOKEN = 'correct-horse-battery-staple';

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
};

/** Headers as they are given, which `fetch` would not send. */
async function send(
  url: string,
  headers: Record<string, string> = {},
  { method = 'POST', body = INITIALIZE as unknown } = {},
): Promise<{ readonly status: number; readonly session: string | undefined; readonly text: string }> {
  const all = { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers: all }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk;
      });
      response.on('end', () => {
        const session = response.headers['mcp-session-id'];
        resolve({ status: response.statusCode ?? 0, session: session as string | undefined, text });
      });
      response.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(method === 'POST' ? JSON.stringify(body) : undefined);
  });
}

/** In this process, where what is refused never comes to a tool. */
async function server(more: Partial<HttpOptions> = {}) {
  const errors: unknown[] = [];
  const running = await serveHttp({
    version: '0',
    tenant: tenantId('default'),
    allowedChecks: [],
    folder: () => '.',
    withMemory: () => Promise.reject(new Error('SECRET-IN-A-STACK')),
    onError: (_, error) => errors.push(error),
    port: 0,
    ...more,
  });
  onTestFinished(() => running.close());
  return { ...running, errors, server: running };
}

it('refuses a foreign host and a foreign origin, and lets its own pass', async () => {
  const { url } = await server({ allowedHosts: ['box.lan'], allowedOrigins: ['https://app.example'] });
  const { port, origin } = new URL(url);
  const status = async (headers: Record<string, string>): Promise<number> => (await send(url, headers)).status;
  expect(await status({ host: `evil.example:${port}` })).toBe(403);
  expect(await status({ origin: 'https://evil.example' })).toBe(403);
  // Control.
  expect(await status({})).toBe(200);
  expect(await status({ host: `localhost:${port}` })).toBe(200);
  expect(await status({ host: 'box.lan' })).toBe(200);
  expect(await status({ origin })).toBe(200);
  expect(await status({ origin: 'https://app.example' })).toBe(200);
});

it('wants the token where there is one', async () => {
  const { url } = await server({ token: TOKEN });
  const status = async (authorization?: string): Promise<number> =>
    (await send(url, authorization === undefined ? {} : { authorization })).status;
  expect(await status()).toBe(401);
  expect(await status(`Bearer ${TOKEN}x`)).toBe(401);
  expect(await status(`Bearer ${TOKEN.slice(1)}`)).toBe(401);
  expect(await status(`Basic ${TOKEN}`)).toBe(401);
  expect(await status('Bearer ')).toBe(401);
  expect(await status(`Bearer ${TOKEN}`)).toBe(200);
  expect(await status(`bearer ${TOKEN}`)).toBe(200);
  const refused = await send(url, { authorization: 'Bearer wrong-wrong-wrong-wrong' });
  expect(refused.text).not.toContain(TOKEN);
});

it.each([
  ['of one-byte pieces', 413, 'Transfer-Encoding: chunked', '1\r\n \r\n'.repeat(2_000)],
  ['that is too deep', 413, 'Transfer-Encoding: chunked', `1000\r\n${'['.repeat(4_096)}\r\n`],
  ['that says to be too large', 413, 'Content-Length: 4194305', ''],
  ['with a number that would be rounded', 400, 'Transfer-Encoding: chunked', '16\r\n{"id":9007199254740993,\r\n'],
  ['that is no JSON', 400, 'Content-Length: 3', '{"a'],
  ['for one of two hosts', 400, 'Host: evil.example', ''],
])('refuses a message %s, without waiting for its end', async (_, status, header, body) => {
  const { url } = await server();
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
  const head = ['POST /mcp HTTP/1.1', 'Host: localhost', 'Content-Type: application/json', header, '', ''];
  socket.write(head.join('\r\n') + body);
  let text = '';
  socket.on('data', (bytes) => {
    text += String(bytes);
  });
  await once(socket, 'close');
  expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

it('is not reached from other machines without a token, and not with a short one', async () => {
  await expect(server({ host: '0.0.0.0' })).rejects.toMatchObject({ code: 'mcp-token-missing' });
  await expect(server({ token: 'short' })).rejects.toMatchObject({ code: 'mcp-token-short' });
  const { url } = await server();
  await expect(server({ port: Number(new URL(url).port) })).rejects.toMatchObject({ code: 'mcp-port-taken' });
});

it('keeps sessions apart, ends them, and makes room for new ones', async () => {
  const { url, server: running } = await server({ sessions: { maxCount: 2 } });
  const first = (await send(url)).session!;
  const second = (await send(url)).session!;
  expect(running.sessionCount).toBe(2);
  // The one that was idle longest makes room.
  const third = await send(url);
  expect([third.status, running.sessionCount]).toEqual([200, 2]);
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
  const ask = (session: string) => send(url, { 'mcp-session-id': session }, { body: list });
  expect((await ask(first)).status).toBe(404);
  expect((await ask(second)).status).toBe(200);
  expect((await send(url, { 'mcp-session-id': second }, { method: 'DELETE' })).status).toBe(200);
  expect((await ask(second)).status).toBe(404);
  expect(running.sessionCount).toBe(1);
  // What is no beginning begins nothing.
  expect((await send(url, {}, { body: list })).status).toBe(400);
  expect((await send(url, {}, { body: 'x'.repeat(5_000_000) })).status).toBe(413);
  expect((await send(`${url}/other`)).status).toBe(404);
  // An address with two hosts, to a resolver.
  expect((await send(url.replace('/mcp', '//other/mcp'))).status).toBe(400);
  expect((await send(url.replace('/mcp', '//'))).status).toBe(400);
  expect((await send(url, {}, { method: 'PUT' })).status).toBe(405);
  expect(running.sessionCount).toBe(1);
});

it('forgets sessions that nobody uses', async () => {
  const { url, server: running } = await server({ sessions: { idleMs: 50 } });
  await send(url);
  expect(running.sessionCount).toBe(1);
  await eventually(() => running.sessionCount === 0);
});

it('tells a fault to its own log, and nothing of it to clients', async () => {
  const { url, errors } = await server();
  const { session } = await send(url);
  const call = { name: 'recall', arguments: { query: 'x', user: 'ana' } };
  const reported = await send(
    url,
    { 'mcp-session-id': session! },
    { body: { jsonrpc: '2.0', id: 2, method: 'tools/call', params: call } },
  );
  expect(reported.text).toContain('"isError":true');
  expect(reported.text).toContain('internal: The server failed.');
  expect(reported.text).not.toContain('SECRET-IN-A-STACK');
  expect(errors).toEqual([expect.objectContaining({ message: 'SECRET-IN-A-STACK' })]);
});

it('serves two clients at once; killed and started again, nothing is lost', async (context) => {
  const { http } = await place(context);
  const env = { TIDEMARK_MCP_TOKEN: TOKEN };
  const running = await http([], env);
  await expect(running.connect('eve')).rejects.toThrow();
  const headers = { authorization: `Bearer ${TOKEN}` };
  const [ann, bob] = await Promise.all([running.connect('ann', headers), running.connect('bob', headers)]);
  await ann.call('state_init', { name: 'audit', stages: ['a', 'b', 'c', 'd'] });
  const asked = ['a', 'b', 'c', 'd'].map((id, at) =>
    (at % 2 === 0 ? ann : bob).call('state_checkpoint', {
      name: 'audit',
      stages: [id],
      status: 'done',
      note: `did ${id}`,
    }),
  );
  const remembered = ['One fact', 'Another fact'].map((text, at) =>
    (at === 0 ? ann : bob).call('remember', { text, user: 'ana' }),
  );
  for (const reported of await Promise.all([...asked, ...remembered])) expect(reported.error).toBeUndefined();
  const checked = await ann.call('state_checkpoint', { name: 'audit', stages: ['a'], check: 'touch ran' });
  expect(checked.error).toMatchObject({ code: 'check-not-approved' });
  running.process.kill('SIGKILL');
  await running.ended;

  const again = await http([], env);
  const cal = await again.connect('cal', headers);
  const shown = await cal.call('state_show', { name: 'audit' });
  const { stages, notes } = shown.data.state as { stages: { status: string; agent: string }[]; notes: unknown[] };
  expect(stages.map(({ status, agent }) => [status, agent])).toEqual([
    ['done', 'ann'],
    ['done', 'bob'],
    ['done', 'ann'],
    ['done', 'bob'],
  ]);
  expect(notes).toHaveLength(4);
  expect((await cal.call('facts', { user: 'ana' })).data.facts).toHaveLength(2);
  // In an orderly end, sessions are closed and the process ends with 0.
  await cal.transport.terminateSession();
  again.process.kill('SIGTERM');
  expect(await again.ended).toBe(0);
});
