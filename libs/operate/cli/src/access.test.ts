/** `tidemark access` and `tidemark audit` on a folder: a key is told once, and what it did is found. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { callCli, hold } from './called-cli-fixture.ts';

it('makes, lists and revokes keys, and tells a secret once', async (context) => {
  const cwd = await mkdtemp(path.join(tmpdir(), 'tidemark-access-'));
  context.onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const call = (...args: readonly string[]) => callCli(args, { cwd });
  const empty = await call('access', 'list-keys');
  expect(empty.code).toBe(78);
  const made = await call(
    ...['access', 'create-key', '--name', 'deploys', '--role', 'operator', '--role', 'viewer'],
    ...['--tenant', 'acme', '--expires', '30d', '--by', 'ana'],
  );
  expect([made.code, made.err]).toEqual([0, expect.stringContaining('lets everybody on this machine in as admin')]);
  const [text = '', about] = made.out.split('\n');
  expect(text).toMatch(/^tmk_[a-z2-7]{16}_[a-z2-7]{52}$/);
  expect(about).toMatch(/^Key \w{16} \(deploys\) of tenant acme: operator, viewer; until /);
  const [, id = '', secret = ''] = text.split('_');

  context.onTestFinished(await hold({ cwd }));
  const listed = await call('access', 'list-keys', '--json');
  const [found] = JSON.parse(listed.out).keys;
  expect(found).toMatchObject({ key: id, name: 'deploys', tenant: 'acme', revoked: null, by: 'ana' });
  expect(listed.out + (await call('access', 'list-keys')).out).not.toContain(secret);
  expect((await call('access', 'list-keys', '--tenant', 'globex')).out).toBe('No keys of globex.\n');

  const whole = await call('access', 'revoke-key', text, '--by', 'bob', '--why', 'it leaked');
  expect([whole.code, whole.err]).toEqual([65, expect.stringContaining('the rest is its secret')]);
  expect(whole.err).not.toContain(secret);
  expect((await call('access', 'revoke-key', 'nokey', '--by', 'bob', '--why', 'x')).code).toBe(65);
  const revoked = await call('access', 'revoke-key', id, '--by', 'bob', '--why', 'it leaked');
  expect([revoked.code, revoked.out]).toEqual([0, expect.stringContaining(`Key ${id} was revoked by bob`)]);
  expect((await call('access', 'list-keys')).out).toBe('No keys.\n');
  expect((await call('access', 'list-keys', '--all')).out).toContain('revoked by bob');

  for (const wrong of [
    ['--role', 'root'],
    ['--role', 'viewer', '--expires', '0d'],
    ['--role', 'viewer', '--tenant', 'a', '--all-tenants'],
  ]) {
    expect((await call('access', 'create-key', '--name', 'x', '--by', 'ana', ...wrong)).code).toBe(64);
  }
  const reserved = ['access', 'create-key', '--name', 'x', '--by', 'ana', '--role', 'viewer', '--tenant', '~tidemark'];
  expect((await call(...reserved)).code).toBe(65);

  expect((await call('access', 'create-tenant', 'acme', '--by', 'ana')).code).toBe(0);
  expect((await call('access', 'suspend-tenant', 'acme', '--by', 'ana', '--why', 'unpaid')).code).toBe(0);
  expect((await call('access', 'tenants')).out).toContain('suspended by ana: unpaid');
  expect((await call('access', 'resume-tenant', 'acme', '--by', 'ana', '--why', 'paid')).code).toBe(0);
  expect((await call('access', 'tenants')).out).toContain('let in');
  const audited = await call('audit');
  expect(audited.out).toBe('No entry matches.\n');
  expect(audited.err).toContain('--tenant names another');
});
