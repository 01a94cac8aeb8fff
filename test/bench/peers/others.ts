/** Owns the peers among what is measured: how each one's servers, workers and client are started, and with which settings. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import {
  freePort,
  makeServerFolder,
  removeServerFolder,
  startNativeProcess,
  waitUntilReady,
} from '@tidemark/testkit/servers';
import { Redis } from 'ioredis';
import type { Contender, Dependencies, System, Worker } from './contender.ts';
import { PEERS_FOLDER, TEMPORAL_CLI_VERSION, temporalProgram } from './install.ts';
import { startChild } from './process.ts';
import { closeAll, nativeServer, openLibrary } from './tidemark.ts';
import { databaseBytes, folderBytes } from './usage.ts';
import { ADDRESS_VARIABLE, WORKER_PORT_VARIABLE } from './workspace/protocol.ts';

/** What the peers' own package.json asks for, to the digit. */
const { dependencies } = JSON.parse(readFileSync(path.join(PEERS_FOLDER, 'package.json'), 'utf8')) as {
  readonly dependencies: Readonly<Record<string, string>>;
};

interface Parts {
  readonly worker: string;
  readonly client: string;
  readonly env: Readonly<Record<string, string>>;
  readonly notesPort: number;
  readonly servers: Readonly<Record<string, number>>;
  readonly storedBytes: () => Promise<number>;
  readonly closings: (() => Promise<unknown>)[];
  /** When the first worker stands and no client does yet. */
  readonly prepare?: () => Promise<void>;
}

/** A system whose workers and clients are processes of their own. */
async function openServed(parts: Parts): Promise<System> {
  const { env, notesPort, closings, storedBytes } = parts;
  const startWorker = async (): Promise<Worker> => {
    const child = await startChild(`workspace/${parts.worker}`, env, notesPort);
    closings.push(() => child.kill());
    return { pid: child.pid, kill: child.kill };
  };
  try {
    const worker = await startWorker();
    await parts.prepare?.();
    const client = await startChild(`workspace/${parts.client}`, env, notesPort);
    closings.push(() => client.kill());
    return {
      ...{ worker, startWorker, storedBytes },
      servers: { ...parts.servers, client: client.pid },
      run: (request) => client.ask({ run: request }),
      wake: (request) => client.ask({ wake: request }),
      close: () => closeAll(closings),
    };
  } catch (error) {
    await closeAll(closings);
    throw error;
  }
}

interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly ping: () => Promise<unknown>;
}

/** A server that is a single program with a folder of its own. */
async function startProgram(folder: string, { command, args, env = {}, ping }: Program): Promise<number> {
  const running = await startNativeProcess({ command, args, folder, env: { ...process.env, ...env } });
  await waitUntilReady(running, folder, ping);
  return running.pid;
}

async function ask(url: string, body?: unknown): Promise<void> {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
  const response = await fetch(url, body === undefined ? {} : post);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`);
}

const restate: Contender = {
  name: 'restate',
  death: 'noticed',
  isDurableExecution: true,
  title: `Restate ${dependencies['@restatedev/restate-server']}, SDK ${dependencies['@restatedev/restate-sdk']}`,
  settings:
    'one server with its defaults (24 partitions, replication 1, its log synced); a plain handler, one `ctx.run` a step',
  takeOver:
    'a second process of the service listens on the same port, as behind a balancer; the server sees the broken connection and tries again by its default policy (first after 500 ms)',
  wakes: 'a workflow of the service, and its durable promise',
  async open({ dataIn, notesPort }: Dependencies) {
    const folder = await makeServerFolder('restate', dataIn);
    const [node, ingress, admin, worker] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const pid = await startProgram(folder, {
      command: path.join(PEERS_FOLDER, 'node_modules/.bin/restate-server'),
      args: ['--no-logo', '--listen-mode', 'tcp', '--base-dir', path.join(folder, 'data'), '--bind-port', String(node)],
      env: {
        RESTATE_BIND_IP: '127.0.0.1',
        RESTATE_NODE_NAME: 'bench',
        RESTATE_INGRESS__BIND_PORT: String(ingress),
        RESTATE_ADMIN__BIND_PORT: String(admin),
        RESTATE_DISABLE_TELEMETRY: 'true',
        RESTATE_LOG_FILTER: 'error',
      },
      ping: async () => {
        await ask(`http://127.0.0.1:${admin}/health`);
        await ask(`http://127.0.0.1:${ingress}/restate/health`);
      },
    });
    return openServed({
      ...{ worker: 'restate-worker.ts', client: 'restate-client.ts', notesPort },
      env: { [ADDRESS_VARIABLE]: `http://127.0.0.1:${ingress}`, [WORKER_PORT_VARIABLE]: String(worker) },
      servers: { restate: pid },
      storedBytes: () => folderBytes(path.join(folder, 'data')),
      closings: [() => removeServerFolder(folder)],
      prepare: () => ask(`http://127.0.0.1:${admin}/deployments`, { uri: `http://127.0.0.1:${worker}` }),
    });
  },
};

const temporal: Contender = {
  name: 'temporal',
  sequentialWithheld:
    'a step took 100 ms, 103 at the 99th percentile, as if something waited for a timer, and neither the settings here nor the sources of server and SDK say for what',
  death: 'noticed',
  isDurableExecution: true,
  title: `Temporal, development server of CLI ${TEMPORAL_CLI_VERSION}, SDK ${dependencies['@temporalio/worker']}`,
  settings: 'the development server with a SQLite file; one activity a step, at most 1,000 at once',
  takeOver:
    'a second worker polls the same task queue; the server tries an activity again when its startToCloseTimeout (10 s) has passed',
  wakes: 'a signal, and `condition`',
  async open({ dataIn, notesPort }: Dependencies) {
    const folder = await makeServerFolder('temporal', dataIn);
    const port = await freePort();
    const args = ['server', 'start-dev', '--headless', '--ip', '127.0.0.1', '--port', String(port)];
    const pid = await startProgram(folder, {
      command: await temporalProgram(),
      args: [...args, '--db-filename', path.join(folder, 'data.db'), '--log-level', 'error'],
      ping: async () => {
        const { connect } = await import('node:net');
        const socket = connect(port, '127.0.0.1');
        await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
        socket.destroy();
      },
    });
    return openServed({
      ...{ worker: 'temporal-worker.ts', client: 'temporal-client.ts', notesPort },
      env: { [ADDRESS_VARIABLE]: `127.0.0.1:${port}` },
      servers: { temporal: pid },
      storedBytes: () => folderBytes(folder, '.db'),
      closings: [() => removeServerFolder(folder)],
    });
  },
};

async function openOnPostgres(file: string, { dataIn, notesPort }: Dependencies): Promise<System> {
  const postgres = await nativeServer('postgres', dataIn);
  // DBOS makes the database that it is told of; LangGraph takes one that is there.
  const url = new URL(postgres.address);
  return openLibrary({
    file: `workspace/${file}`,
    env: { [ADDRESS_VARIABLE]: url.href },
    notesPort,
    servers: { postgres: postgres.pid! },
    storedBytes: () => databaseBytes(url.href),
    closings: [() => postgres.stop()],
  });
}

const dbos: Contender = {
  name: 'dbos',
  death: 'told',
  isDurableExecution: true,
  title: `DBOS ${dependencies['@dbos-inc/dbos-sdk']}`,
  settings:
    'a library on Postgres (fsync on); workflows are started and run in one process; one `runStep` a step; defaults otherwise',
  takeOver:
    "a process that is loaded launches under the dead one's executor id when the bench tells it (a supervisor does that; the paid Conductor notices by itself, by default after 60 s)",
  wakes: '`send` and `recv`',
  open: (dependencies) => openOnPostgres('dbos.ts', dependencies),
};

const langgraph: Contender = {
  name: 'langgraph',
  death: 'told',
  isDurableExecution: true,
  title: `LangGraph JS ${dependencies['@langchain/langgraph']}, Postgres checkpointer ${dependencies['@langchain/langgraph-checkpoint-postgres']}`,
  settings: 'a library on Postgres (fsync on); one node a step, durability `sync`',
  takeOver: 'a second process invokes the threads again when the bench tells it (the library itself notices no death)',
  open: (dependencies) => openOnPostgres('langgraph.ts', dependencies),
};

const bullmq: Contender = {
  name: 'bullmq',
  death: 'noticed',
  isDurableExecution: false,
  title: `BullMQ ${dependencies.bullmq}`,
  settings:
    'Redis with AOF, synced every second, noeviction, as its guide recommends; one job a step, which adds the next; up to 1 s is lost with the machine',
  takeOver:
    'a second worker stands by; stalled jobs are found by the default check (locks of 30 s, looked at every 30 s)',
  async open({ dataIn, notesPort }: Dependencies) {
    const redis = await nativeServer('redis', dataIn);
    const admin = new Redis(redis.address);
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await admin.config('SET', 'appendfsync', 'everysec');
    await admin.config('SET', 'appendonly', 'yes');
    return openServed({
      ...{ worker: 'bullmq-worker.ts', client: 'bullmq-client.ts', notesPort },
      env: { [ADDRESS_VARIABLE]: redis.address },
      servers: { redis: redis.pid! },
      storedBytes: async () => {
        await rewritten(admin);
        return folderBytes(redis.folder);
      },
      closings: [() => redis.stop(), async () => admin.disconnect()],
    });
  },
};

/** Resolves when the append-only file holds the newest state alone. */
async function rewritten(admin: Redis): Promise<void> {
  const busy = async (): Promise<boolean> =>
    /aof_rewrite_in_progress:1|aof_rewrite_scheduled:1/.test(await admin.info('persistence'));
  const idle = async (): Promise<void> => {
    while (await busy()) await new Promise((resolve) => setTimeout(resolve, 50));
  };
  await idle();
  await admin.bgrewriteaof();
  await idle();
}

export const peers: readonly Contender[] = [restate, dbos, temporal, langgraph, bullmq];
