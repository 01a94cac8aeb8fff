/** A server that closes answers who waits first, and its client asks the next one by itself. */

import { rmSync } from 'node:fs';
import { connect } from '@tidemark/client';
import { eventually } from '@tidemark/testkit/eventually';
import { afterEach, expect, it } from 'vitest';
import { type Served, serveApi } from './served.ts';

const opened: Served[] = [];
let folder: string | undefined;
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close({ keepsFolder: true });
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
});

/** With what it was asked. */
async function serve(options: Parameters<typeof serveApi>[0] = {}): Promise<Served & { readonly asked: string[] }> {
  const served = await serveApi(options);
  opened.push(served);
  folder = served.folder;
  const asked: string[] = [];
  served.app.server.on('request', ({ url = '' }) => void asked.push(url));
  return Object.assign(served, { asked });
}

const arrived = ({ asked }: { readonly asked: readonly string[] }, path: string) =>
  eventually(() => expect(asked).toContainEqual(expect.stringContaining(path)));

it('answers long polls at once with what is so, and ends streams in order', async () => {
  const served = await serve();
  await connect({ url: served.url }).start('patient', {}, { id: 'p' });
  const poll = fetch(`${served.url}/v1/workflows/p/result?wait_ms=20000`);
  const stream = await fetch(`${served.url}/v1/workflows/p/events`);
  const read = stream.text();
  await arrived(served, '/result');
  const beganMs = performance.now();
  await served.app.close();
  // Undefined: its connection was cut.
  const answer = await poll.catch(() => undefined);
  expect(answer?.status).toBe(200);
  expect(await answer?.json()).toMatchObject({ status: 'open' });
  // A connection that was cut would reject.
  expect(await read).toContain('retry: ');
  // Not by the time that a request may take, and not by that of the last answers.
  expect(performance.now() - beganMs).toBeLessThan(4_000);
});

it('a client that waits for a result asks again until a server is back', async () => {
  const first = await serve();
  let refusedCount = 0;
  const counting: typeof fetch = (...args) =>
    fetch(...args).catch((error: unknown) => {
      refusedCount += 1;
      throw error;
    });
  // One attempt: by itself none is made again.
  const client = connect({ url: first.url, fetch: counting, tries: 1 });
  const run = await client.start('patient', {}, { id: 'p' });
  const result = run.result();
  result.catch(() => {});
  await arrived(first, '/result');
  const port = Number(new URL(first.url).port);
  await first.close({ keepsFolder: true });
  opened.pop();
  await eventually(() => expect(refusedCount).toBeGreaterThan(1));
  const second = await serve({ folder: first.folder, port });
  await connect({ url: second.url }).run('p').signal('go', 'on');
  await result;
  // The control: who never had an answer is told that nobody is there.
  await expect(connect({ url: 'http://127.0.0.1:1', tries: 1 }).run('p').result()).rejects.toMatchObject({
    code: 'unreachable',
  });
});
