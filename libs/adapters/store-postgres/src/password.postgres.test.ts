/** Passwords that are asked for at each connection, and certificates that are checked against the host, on a real server that requires both. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type NativeServer, pemOf, startSecured, ThrowAwayAuthority } from '@tidemark/testkit/servers';
import pg from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { migratePostgres, openPostgresStore } from './index.ts';

vi.setConfig({ hookTimeout: 180_000 });

let folder: string;
let server: NativeServer;
let tls: Awaited<ReturnType<typeof pemOf>>;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-password-'));
  const authority = await ThrowAwayAuthority.make(path.join(folder, 'authority'));
  const client = await authority.sign('client');
  const names = 'IP:127.0.0.1';
  server = await startSecured('postgres', {
    ca: authority.ca,
    server: await authority.sign('server', { names }),
    client,
  });
  tls = await pemOf({ ca: authority.ca, ...client });
  const rules = path.join(server.folder, 'data/pg_hba.conf');
  const rule = 'hostssl all rotating 127.0.0.1/32 scram-sha-256 clientcert=verify-ca\n';
  await writeFile(rules, rule + (await readFile(rules, 'utf8')));
  await administer("create role rotating login createdb password 'one'", 'select pg_reload_conf()');
});
afterAll(async () => {
  await server?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function administer(...statements: readonly string[]): Promise<void> {
  const admin = new pg.Client({ connectionString: server.address, ssl: { ...tls } });
  await admin.connect();
  try {
    for (const statement of statements) await admin.query(statement);
  } finally {
    await admin.end();
  }
}

/** The address of a user without a password. */
const addressAt = (host: string): string =>
  server.address.replace(/\/\/[^/]*:/, `//rotating@${host}:`).replace(/[^/]*$/, 'rows');

test('a password that was rotated is taken at the next connection, and an old one is told as such', async () => {
  let password = 'one';
  const access = { url: addressAt('127.0.0.1'), tls, password: async () => password };
  // It makes the database, by a connection of its own.
  await migratePostgres({ ...access, mayContract: false, isDryRun: false });
  const store = openPostgresStore(access);
  try {
    await store.ensure();
    await administer(
      "alter role rotating password 'two'",
      "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'rotating'",
    );
    await vi.waitFor(async () => {
      await expect(store.positions()).rejects.toMatchObject({
        code: 'store-unavailable',
        message: expect.stringContaining('password authentication failed'),
      });
    });
    password = 'two';
    expect((await store.positions()).size).toBe(0);
  } finally {
    await store.close();
  }
});

test('one that can not be had is told as that', async () => {
  const password = (): Promise<string> => Promise.reject(new Error('the vault is sealed'));
  const store = openPostgresStore({ url: addressAt('127.0.0.1'), tls, password });
  await expect(store.ensure()).rejects.toMatchObject({ message: expect.stringContaining('the vault is sealed') });
  await store.close();
});

test('nothing goes to a server whose certificate is of another host', async () => {
  const asked = vi.fn(async () => 'two');
  const store = openPostgresStore({ url: addressAt('localhost'), tls, password: asked });
  await expect(store.ensure()).rejects.toMatchObject({
    message: expect.stringContaining("does not match certificate's altnames"),
  });
  expect(asked).not.toHaveBeenCalled();
  await store.close();
});
