/**
 * Owns obtaining a test Postgres: its container image, its native start, its ping. With data in memory nothing is synced unless requested
 * (a crash of the process loses nothing, only one of the machine would); on disk it runs as installed.
 */
import { execFile } from 'node:child_process';
import { chmod, chown, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { ConnectionOptions } from 'node:tls';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { connectTimeoutMs, postgresConnectionsMax } from './limits.ts';
import type { NativeCommand } from './native-process.ts';
import { startNativeServer } from './native-server.ts';
import { type PostgresPrograms, postgresPrograms } from './postgres-programs.ts';
import { type SecuredBy, securedFiles } from './securing.ts';
import type { DataIn, NativeServer } from './server.ts';

export const postgresImage = 'postgres:17-alpine';

const run = promisify(execFile);
const role = 'tidemark';
/** Not synchronous_commit=off: that would lose commits when the process alone is killed. */
const unsyncedSettings = ['fsync=off', 'full_page_writes=off'];

/** `synced`: see `ServerOptions`. */
export async function startNativePostgres(
  dataIn: DataIn,
  secured?: SecuredBy,
  synced = dataIn === 'disk',
): Promise<NativeServer> {
  const programs = await postgresPrograms();
  const address = (port: number): string => `postgres://${role}@127.0.0.1:${port}/postgres`;
  return await startNativeServer(
    {
      kind: 'postgres',
      portCount: 1,
      owner: programs.owner,
      address,
      ping: async (port) => pingPostgres(address(port), secured && (await clientOf(secured))),
      prepare: (folder, [port]) => prepare(programs, folder, port ?? 0, synced, secured),
    },
    dataIn,
  );
}

async function prepare(
  programs: PostgresPrograms,
  folder: string,
  port: number,
  synced: boolean,
  secured: SecuredBy | undefined,
): Promise<NativeCommand> {
  const data = path.join(folder, 'data');
  const initialise = ['-D', data, '-U', role, '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'];
  await run(programs.initdb, initialise, { ...(programs.owner ?? {}), cwd: folder });
  const settings = [
    `max_connections=${postgresConnectionsMax}`,
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    ...(synced ? [] : unsyncedSettings),
    ...(secured === undefined ? [] : await securedSettings(programs, data, secured)),
  ];
  return {
    command: programs.postgres,
    args: ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])],
    folder,
    owner: programs.owner,
    endSignal: 'SIGQUIT',
  };
}

const clientOf = async ({ ca, client }: SecuredBy) => ({
  ca: await readFile(ca, 'utf8'),
  cert: await readFile(client.cert, 'utf8'),
  key: await readFile(client.key, 'utf8'),
});

/** Clients need TLS, and a certificate of the authority. */
async function securedSettings(
  { owner }: PostgresPrograms,
  data: string,
  secured: SecuredBy,
): Promise<readonly string[]> {
  const { ca, cert, key } = await securedFiles(data, secured);
  await writeFile(path.join(data, 'pg_hba.conf'), 'hostssl all all 127.0.0.1/32 trust clientcert=verify-ca\n');
  await chmod(key, 0o600);
  if (owner !== undefined) for (const file of [ca, cert, key]) await chown(file, owner.uid, owner.gid);
  return ['ssl=on', `ssl_ca_file=${ca}`, `ssl_cert_file=${cert}`, `ssl_key_file=${key}`];
}

/** Rejects unless a Postgres answers a query at the address. */
export async function pingPostgres(address: string, ssl?: ConnectionOptions | undefined): Promise<void> {
  const client = new Client({
    connectionString: address,
    connectionTimeoutMillis: connectTimeoutMs,
    ...(ssl !== undefined && { ssl }),
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('select 1');
  } finally {
    await client.end();
  }
}
