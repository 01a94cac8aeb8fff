/** The API over TLS: with its certificate alone, and where clients have to show one of theirs. In clear it answers nobody. */

import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pemOf, ThrowAwayAuthority } from '@tidemark/testkit/servers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Served, serveApi } from './served.ts';

let folder: string;
let pem: Record<'server' | 'client' | 'stranger', Awaited<ReturnType<typeof pemOf>>>;
const all: Served[] = [];
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-api-tls-'));
  const ours = await ThrowAwayAuthority.make(path.join(folder, 'ours'));
  const theirs = await ThrowAwayAuthority.make(path.join(folder, 'theirs'));
  pem = {
    server: await pemOf({ ...(await ours.sign('server')), ca: ours.ca }),
    client: await pemOf({ ...(await ours.sign('client')), ca: ours.ca }),
    stranger: await pemOf({ ...(await theirs.sign('stranger')), ca: ours.ca }),
  };
});
afterAll(async () => {
  for (const served of all) await served.close();
  await rm(folder, { recursive: true, force: true });
});

async function serve(ofCallers: { readonly ca?: string | undefined }): Promise<string> {
  const { cert, key } = pem.server;
  const served = await serveApi({ tls: { ...ofCallers, cert: cert!, key: key! } });
  all.push(served);
  return served.url;
}

const get = (url: string, files: object): Promise<number> =>
  new Promise((resolve, reject) => {
    const asked = request(`${url}/v1/workflows`, { ...files, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode ?? 0);
    });
    asked.on('error', reject);
    asked.end();
  });

it('is answered over TLS, and not in clear', async () => {
  const url = await serve({});
  expect(url).toMatch(/^https:/);
  expect(await get(url, { ca: pem.client.ca })).toBe(200);
  await expect(fetch(url.replace('https:', 'http:'))).rejects.toThrow();
  // Who doesn't know the authority doesn't believe it.
  await expect(get(url, {})).rejects.toThrow(/certificate/);
});

it('lets in nobody without a certificate where one is required', async () => {
  const url = await serve({ ca: pem.server.ca });
  expect(await get(url, pem.client)).toBe(200);
  await expect(get(url, { ca: pem.client.ca })).rejects.toThrow();
  await expect(get(url, pem.stranger)).rejects.toThrow();
});
