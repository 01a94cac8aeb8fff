/**
 * Owns pairs of native servers behind one name, for tests of failovers: a primary, its replica, and a proxy whose target is who holds the
 * name; and PgBouncer before a Postgres. What is started here ends with its `stop`, or with this process.
 */

import { chown, cp, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { UnavailableError } from '@tidemark/core';
import { eventually } from '@tidemark/testkit/eventually';
import {
  freePort,
  isUnavailable,
  makeServerFolder,
  type NativeCommand,
  type NativeServer,
  pingRedis,
  postgresPrograms,
  removeServerFolder,
  requireProgram,
  type ServerKind,
  startNativeProcess,
  startServer,
  waitUntilReady,
} from '@tidemark/testkit/servers';
import pg from 'pg';
import type { TestContext } from 'vitest';
import { TcpProxy } from '../chaos/tcp-proxy.ts';

/** What a test needs. Where it can't be had the test is skipped, by name; with CI=true it fails. */
export async function needed<T>(context: TestContext, starting: Promise<T>): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    if (!(error instanceof UnavailableError) || process.env.CI === 'true') throw error;
    return context.skip(`needs a server: ${error.message}`);
  }
}

/** A native server of a test's own. */
export async function startNative(kind: ServerKind): Promise<NativeServer> {
  const server = await startServer(kind, { sources: ['native'] });
  if (isUnavailable(server)) throw new UnavailableError('test-server-missing', server.unavailable);
  if (server.source !== 'native') throw new UnavailableError('test-server-missing', `${kind} is not a native server`);
  return server;
}

export interface Named {
  /** The address under the name. */
  readonly url: string;
  /** From now on new connections go there; those that stand are left alone. */
  point(address: string): void;
  close(): Promise<void>;
}

/** One name for servers that may take turns. */
export async function name(address: string): Promise<Named> {
  const proxy = new TcpProxy();
  await proxy.listen();
  const point = (to: string): void => proxy.target(new URL(to).host);
  point(address);
  const url = new URL(address);
  url.port = String(proxy.port);
  return { url: url.href, point, close: () => proxy.close() };
}

export async function sql(url: string, ...statements: readonly string[]): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: readonly Record<string, unknown>[] = [];
    for (const statement of statements) rows = (await client.query(statement)).rows;
    return rows;
  } finally {
    await client.end();
  }
}

export interface PostgresPair {
  readonly first: NativeServer;
  /** Follows the first until it is promoted. `caughtUp`: once it has all that the first has written by now. */
  readonly second: { readonly address: string; caughtUp(): Promise<void>; promote(): Promise<void> };
  /** Ends the first, and starts it again as a standby. */
  demoteFirst(): Promise<void>;
  stop(): Promise<void>;
}

/** The second begins as a copy of the first's files, so that neither pg_basebackup nor another tool is needed. */
export async function startPostgresPair(): Promise<PostgresPair> {
  const first = await startNative('postgres');
  const { postgres, owner } = await postgresPrograms();
  const folder = await makeServerFolder('postgres', 'memory', owner);
  const data = path.join(folder, 'data');
  await first.kill();
  await cp(path.join(first.folder, 'data'), data, { recursive: true, preserveTimestamps: true });
  await rm(path.join(data, 'postmaster.pid'), { force: true });
  await writeFile(path.join(data, 'standby.signal'), '');
  await own(data, owner);
  await first.startAgain();
  const port = await freePort();
  const follow = `host=127.0.0.1 port=${new URL(first.address).port} user=${new URL(first.address).username}`;
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'fsync=off', 'max_connections=300'];
  const args = [...settings, `primary_conninfo=${follow}`].flatMap((setting) => ['-c', setting]);
  const command = { command: postgres, args: ['-D', data, '-p', String(port), ...args], folder, owner };
  const url = new URL(first.address);
  url.port = String(port);
  const second = await started({ ...command, endSignal: 'SIGQUIT' }, url.href, () => sql(url.href, 'select 1'));
  return {
    first,
    second: {
      address: url.href,
      async caughtUp() {
        const [{ at } = {}] = await sql(first.address, 'select pg_current_wal_lsn()::text as at');
        const replayed = `select pg_last_wal_replay_lsn() >= '${at}' as there`;
        await eventually(async () => (await sql(url.href, replayed))[0]?.there, { timeoutMs: 30_000 });
      },
      promote: async () => void (await sql(url.href, 'select pg_promote()')),
    },
    async demoteFirst() {
      await first.kill();
      const signal = path.join(first.folder, 'data/standby.signal');
      await writeFile(signal, '');
      await first.startAgain();
    },
    stop: async () => void (await Promise.all([first.stop(), second.stop()])),
  };
}

/** Postgres refuses files of another user. */
async function own(folder: string, owner: { readonly uid: number; readonly gid: number } | undefined): Promise<void> {
  if (owner === undefined) return;
  const entries = await readdir(folder, { recursive: true });
  await Promise.all(['', ...entries].map((entry) => chown(path.join(folder, entry), owner.uid, owner.gid)));
}

/** A server that this file starts by itself. */
export interface Started {
  readonly url: string;
  stop(): Promise<void>;
}

/** PgBouncer before a Postgres. `settings`: lines of its configuration. */
export async function startPgBouncer(postgres: NativeServer, ...settings: readonly string[]): Promise<Started> {
  const packages = { 'apt-get': ['pgbouncer'], dnf: ['pgbouncer'], apk: ['pgbouncer'] };
  const program = await requireProgram('pgbouncer', packages);
  if (program === undefined) throw new UnavailableError('test-server-missing', 'no pgbouncer in PATH');
  const { owner } = await postgresPrograms();
  const folder = await makeServerFolder('pgbouncer', 'memory', owner);
  const port = await freePort();
  const url = new URL(postgres.address);
  const file = path.join(folder, 'pgbouncer.ini');
  const users = path.join(folder, 'users.txt');
  await writeFile(users, `"${url.username}" ""\n`, { mode: 0o644 });
  const lines = [
    '[databases]',
    `* = host=127.0.0.1 port=${url.port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${users}`,
    ...settings,
  ];
  await writeFile(file, `${lines.join('\n')}\n`, { mode: 0o644 });
  url.port = String(port);
  return await started({ command: program, args: [file], folder, owner }, url.href, () => sql(url.href, 'select 1'));
}

/** One node of a Redis in cluster mode, without slots. */
export async function startRedisCluster(): Promise<Started> {
  const program = await requireProgram('redis-server', { 'apt-get': ['redis-server'], dnf: ['redis'], apk: ['redis'] });
  if (program === undefined) throw new UnavailableError('test-server-missing', 'no redis-server in PATH');
  const folder = await makeServerFolder('redis', 'memory');
  const [port, busPort] = [await freePort(), await freePort()];
  const files = ['--dir', folder, '--save', '', '--appendonly', 'no', '--bind', '127.0.0.1', '--port', String(port)];
  const args = [...files, '--cluster-enabled', 'yes', '--cluster-port', String(busPort)];
  const url = `redis://127.0.0.1:${port}`;
  return await started({ command: program, args, folder }, url, () => pingRedis(url));
}

async function started(command: NativeCommand, url: string, ping: () => Promise<unknown>): Promise<Started> {
  const process = await startNativeProcess(command);
  const stop = async (): Promise<void> => {
    await process.end();
    await removeServerFolder(command.folder);
  };
  try {
    await waitUntilReady(process, command.folder, ping);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, stop };
}
