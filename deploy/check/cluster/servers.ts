/** Owns Kafka, Redis and Postgres of the cluster: processes of the outside, at an address that its nodes reach. They end with the namespaces. */

import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, cpSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { eventually } from '@tidemark/testkit/eventually';
import {
  jvmFlags,
  kafkaDistribution,
  kafkaServerProperties,
  pingKafka,
  postgresPrograms,
} from '@tidemark/testkit/servers';
import { Client } from 'pg';

const CONTROLLER_PORT = 9093;
const CONNECTIONS_MAX = 200;

export interface Server {
  readonly name: string;
  readonly command: readonly string[];
  readonly folder: string;
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined;
}

/** Its output goes to a file in the run's folder. */
export function start(run: string, { name, command, folder, owner }: Server): void {
  const log = openSync(`${run}/${name}.log`, 'a');
  const [program = '', ...args] = command;
  spawn(program, args, { cwd: folder, stdio: ['ignore', log, log], ...owner });
}

/** Resolves when all three answer. */
export async function startServers(run: string, host: string): Promise<void> {
  const folder = path.join(run, 'servers');
  mkdirSync(path.join(folder, 'redis'), { recursive: true });
  const redis = [
    '--bind',
    host,
    '--protected-mode',
    'no',
    '--save',
    '',
    '--appendonly',
    'no',
    '--maxmemory-policy',
    'noeviction',
  ];
  start(run, { name: 'redis', command: ['redis-server', ...redis], folder: path.join(folder, 'redis') });
  await Promise.all([
    startKafka(run, path.join(folder, 'kafka'), host),
    startPostgres(run, path.join(folder, 'postgres'), host),
  ]);
}

async function startKafka(run: string, folder: string, host: string): Promise<void> {
  const { java, classPath, formatted } = await kafkaDistribution();
  const data = path.join(folder, 'data');
  cpSync(path.join(formatted, 'data'), data, { recursive: true });
  const address = `${host}:9092`;
  const properties = path.join(folder, 'server.properties');
  writeFileSync(
    properties,
    kafkaServerProperties(data, 9094, CONTROLLER_PORT, [{ own: address, advertised: address }]),
  );
  start(run, { name: 'kafka', command: [java, ...jvmFlags, '-cp', classPath, 'kafka.Kafka', properties], folder });
  await eventually(() => pingKafka(address).then(() => true));
}

async function startPostgres(run: string, folder: string, host: string): Promise<void> {
  const { postgres, initdb, owner } = await postgresPrograms();
  mkdirSync(folder, { recursive: true });
  if (owner !== undefined) chownSync(folder, owner.uid, owner.gid);
  chmodSync(run, 0o711);
  const data = path.join(folder, 'data');
  const initial = ['-D', data, '-U', 'tidemark', '-A', 'trust', '-E', 'UTF8', '--no-locale', '--no-sync'];
  execFileSync(initdb, initial, { cwd: folder, stdio: 'ignore', ...owner });
  writeFileSync(path.join(data, 'pg_hba.conf'), 'host all all 10.0.0.0/8 trust\n');
  const settings = [
    `listen_addresses=${host}`,
    'unix_socket_directories=',
    'fsync=off',
    'full_page_writes=off',
    `max_connections=${CONNECTIONS_MAX}`,
  ];
  start(run, {
    name: 'postgres',
    command: [postgres, '-D', data, ...settings.flatMap((each) => ['-c', each])],
    folder,
    owner,
  });
  await eventually(async () => {
    const client = new Client(`postgres://tidemark@${host}:5432/postgres`);
    try {
      await client.connect();
      await client.query('create database tidemark');
      return true;
    } finally {
      await client.end().catch(() => undefined);
    }
  });
}
