/** Owns Tidemark among what is measured: a cluster of a coordinator and workers, and the embedded default. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { startService } from '@tidemark/testkit/processes';
import {
  freePort,
  isUnavailable,
  makeServerFolder,
  type NativeServer,
  removeServerFolder,
  startServer,
} from '@tidemark/testkit/servers';
import type { Contender, Dependencies, System, Worker } from './contender.ts';
import { type Child, startChild } from './process.ts';
import { databaseBytes, folderBytes } from './usage.ts';
import {
  ADDRESS_VARIABLE,
  CONCURRENCY,
  FUNCTION_VARIABLE,
  NOTES_VARIABLE,
  STANDBY_VARIABLE,
} from './workspace/protocol.ts';

type NativeKind = 'kafka' | 'redis' | 'postgres';

/** A server of our own, synced as a durable one is; Kafka syncs by its own default (by replication, not by each append). */
export async function nativeServer(kind: NativeKind, dataIn: 'memory' | 'disk'): Promise<NativeServer> {
  const server = await startServer(kind, { dataIn, synced: true, sources: ['native'] });
  if (isUnavailable(server)) throw new Error(`${kind}: ${server.unavailable}. Remedy: ${server.remedy}.`);
  if (server.source !== 'native') throw new Error(`${kind}: was to be started natively, but is ${server.source}`);
  return server;
}

/** Ends all, the last first; the first failure is told when all were tried. */
export async function closeAll(closings: readonly (() => Promise<unknown>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closings.toReversed()) await close().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}

export const cluster: Contender = {
  name: 'tidemark',
  death: 'noticed',
  isDurableExecution: true,
  title: 'Tidemark, cluster',
  settings:
    'one coordinator and one worker on one Kafka broker (acks=all), Redis and Postgres (fsync on); 1,024 partitions; payloads encrypted with a key in a file; defaults otherwise, but for the flags of Node that the services have by default',
  takeOver:
    'a second worker stands by; the coordinator notices the closed connection by itself and another worker claims the workflow',
  wakes: 'a step that waits for a signal, and the lease is released meanwhile',
  open: (given) => openClusterSystem(given, { isEncrypted: true }),
};

/** Of the peers none encrypts. */
export const plainCluster: Contender = {
  ...cluster,
  name: 'tidemark-plain',
  title: 'Tidemark, cluster, not encrypted',
  settings: 'as the cluster, with `TIDEMARK_ENCRYPTION=off`',
  open: (given) => openClusterSystem(given, {}),
};

export const functions: Contender = {
  ...plainCluster,
  name: 'tidemark-functions',
  title: 'Tidemark, functions on the cluster, not encrypted',
  settings: 'the same cluster; a function, one `ctx.run` a step',
  open: (given) => openClusterSystem(given, { isFunction: true }),
};

async function openClusterSystem(
  { dataIn, notesPort }: Dependencies,
  { isEncrypted = false, isFunction = false },
): Promise<System> {
  const closings: (() => Promise<unknown>)[] = [];
  const close = (): Promise<void> => closeAll(closings);
  try {
    const kinds = ['kafka', 'redis', 'postgres'] as const;
    const [kafka, redis, postgres] = await Promise.all(kinds.map((kind) => nativeServer(kind, dataIn)));
    closings.push(...[kafka!, redis!, postgres!].map((server) => () => server.stop()));
    const keys = await mkdtemp(path.join(os.tmpdir(), 'tidemark-peers-keys-'));
    closings.push(() => rm(keys, { recursive: true }));
    const env = {
      TIDEMARK_KAFKA_BROKERS: kafka!.address,
      TIDEMARK_REDIS_URL: redis!.address,
      TIDEMARK_POSTGRES_URL: postgres!.address,
      TIDEMARK_TOPIC: 'bench-peers',
      TIDEMARK_PARTITIONS: '1024',
      ...(isEncrypted
        ? { TIDEMARK_KEYS_URL: pathToFileURL(path.join(keys, 'keys.json')).href }
        : { TIDEMARK_ENCRYPTION: 'off' }),
      TIDEMARK_AUTH: 'off',
      TIDEMARK_API_HOST: '127.0.0.1',
      TIDEMARK_API_PORT: String(await freePort()),
      TIDEMARK_CONCURRENCY: String(CONCURRENCY),
      TIDEMARK_WORKFLOWS: './test/bench/peers/tidemark-workflow.ts',
      [NOTES_VARIABLE]: String(notesPort),
      ...ofFunction(isFunction),
    };
    const coordinator = await startService('coordinator', env, []);
    // Asked to end: with `TIDEMARK_SERVICE_FLAGS=--cpu-prof` they write their profiles then.
    closings.push(() => coordinator.stop());
    const startWorker = async (): Promise<Worker> => {
      const service = await startService('worker', env, []);
      closings.push(() => service.stop());
      return service;
    };
    const worker = await startWorker();
    const client = await startChild('tidemark-client.ts', env, notesPort);
    closings.push(() => client.kill());
    return {
      worker,
      servers: {
        kafka: kafka!.pid!,
        redis: redis!.pid!,
        postgres: postgres!.pid!,
        coordinator: coordinator.pid,
        client: client.pid,
      },
      startWorker,
      run: (request) => client.ask({ run: request }),
      wake: (request) => client.ask({ wake: request }),
      storedBytes: async () => (await folderBytes(kafka!.folder, '.log')) + (await databaseBytes(postgres!.address)),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

export const embedded: Contender = {
  name: 'tidemark-embedded',
  death: 'told',
  isDurableExecution: true,
  title: 'Tidemark, embedded',
  settings: 'one process without servers: SQLite (WAL, synchronous=FULL) and PGlite; not encrypted, as by default',
  takeOver:
    'a process that is loaded opens the folder when the bench tells it that the other is dead (a supervisor does that)',
  wakes: 'as in the cluster',
  open: (given) => openEmbeddedSystem(given, {}),
};

export const embeddedFunctions: Contender = {
  ...embedded,
  name: 'tidemark-embedded-functions',
  title: 'Tidemark, functions embedded',
  settings: 'the same process; a function, one `ctx.run` a step',
  open: (given) => openEmbeddedSystem(given, { isFunction: true }),
};

async function openEmbeddedSystem({ dataIn, notesPort }: Dependencies, { isFunction = false }): Promise<System> {
  const parent = await makeServerFolder('embedded', dataIn);
  const folder = path.join(parent, 'data');
  return openLibrary({
    file: 'tidemark-embedded.ts',
    env: { [ADDRESS_VARIABLE]: folder, ...ofFunction(isFunction) },
    notesPort,
    servers: {},
    storedBytes: async () => (await folderBytes(path.join(folder, 'log'))) + (await rowsBytes(folder)),
    closings: [() => removeServerFolder(parent)],
  });
}

const ofFunction = (isFunction: boolean) => ({ [FUNCTION_VARIABLE]: isFunction ? 'yes' : 'no' });

/** The WAL of the rows, as Postgres's own, is recycled. */
async function rowsBytes(folder: string): Promise<number> {
  const rows = path.join(folder, 'rows');
  return (await folderBytes(rows)) - (await folderBytes(path.join(rows, 'pg_wal')).catch(() => 0));
}

export interface Library {
  readonly file: string;
  readonly env: Readonly<Record<string, string>>;
  readonly notesPort: number;
  readonly servers: Readonly<Record<string, number>>;
  readonly storedBytes: () => Promise<number>;
  readonly closings: readonly (() => Promise<unknown>)[];
}

/** A system that is a library: the process that starts workflows runs them, and a standby is told of a death. */
export async function openLibrary(library: Library): Promise<System> {
  const { file, env, notesPort, servers, storedBytes } = library;
  const closings = [...library.closings];
  const close = (): Promise<void> => closeAll(closings);
  const children = new Map<number, Child>();
  const start = async (standby: 'yes' | 'no'): Promise<Worker> => {
    const child = await startChild(file, { ...env, [STANDBY_VARIABLE]: standby }, notesPort);
    closings.push(() => child.kill());
    children.set(child.pid, child);
    return { pid: child.pid, kill: child.kill, takeOver: (given) => child.ask({ takeOver: given }) };
  };
  try {
    return {
      worker: await start('no'),
      servers,
      startWorker: () => start('yes'),
      run: (request, by) => children.get(by.pid)!.ask({ run: request }),
      wake: (request, by) => children.get(by.pid)!.ask({ wake: request }),
      storedBytes,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}
