import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Fastify from 'fastify';
import { expect, it } from 'vitest';
import { serveConsole, wantsPage } from './console.ts';

it('serves the page, what it loads of any later build, and nothing beside them', async (context) => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-served-'));
  const app = Fastify();
  context.onTestFinished(async () => {
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });
  await mkdir(path.join(folder, 'assets'));
  await writeFile(path.join(folder, 'index.html'), '<!doctype html>');
  await writeFile(path.join(folder, '.built'), 'now');
  await serveConsole(app, folder);
  app.setNotFoundHandler((request, reply) =>
    wantsPage(request.method, request.url, request.headers.accept)
      ? reply.sendFile('index.html')
      : reply.code(404).send({ code: 'route-unknown' }),
  );
  const get = (url: string) => app.inject({ url, headers: { accept: 'text/html' } });
  expect((await get('/workflows/a%2Fb')).body).toBe('<!doctype html>');
  expect((await get('/')).headers['content-security-policy']).toContain("default-src 'none'");
  expect((await get('/assets/later.js')).statusCode).toBe(404);
  await writeFile(path.join(folder, 'assets/later.js'), '1');
  expect((await get('/assets/later.js')).headers['cache-control']).toContain('immutable');
  for (const hidden of ['/v1/nothing', '/assets/..%2f..%2fetc%2fpasswd']) {
    expect([hidden, (await get(hidden)).statusCode]).toEqual([hidden, 404]);
  }
  // No page of its own: the console's, at that address.
  expect((await get('/.built')).body).toBe('<!doctype html>');
});
