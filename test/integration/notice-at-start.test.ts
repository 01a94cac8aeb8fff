/** A worker that is started on a machine that has a spot notice, as the container of one that just left is: it stays, unready, and takes nothing. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { SERVICE_NODE_FLAGS } from '@tidemark/host';
import { eventually } from '@tidemark/testkit/eventually';
import { freePort } from '@tidemark/testkit/servers';
import { afterEach, beforeEach, expect, it } from 'vitest';

const ROOT = path.resolve(import.meta.dirname, '../..');
const TIMEOUT_MS = 60_000;

let folder: string;
let notice: string;
let worker: ChildProcess;
let exited: Promise<unknown[]>;
let log: string;
let health: string;
/** Whoever starts connects to its brokers first. */
let connectionCount: number;
const brokers = createServer((socket) => {
  connectionCount++;
  socket.destroy();
});

beforeEach(async () => {
  [log, connectionCount] = ['', 0];
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-notice-'));
  notice = path.join(folder, 'notice');
  await new Promise<void>((resolve) => brokers.listen(0, '127.0.0.1', resolve));
  health = `127.0.0.1:${await freePort()}`;
});

afterEach(async () => {
  worker.kill('SIGKILL');
  await exited;
  await new Promise((resolve) => brokers.close(resolve));
  await rm(folder, { recursive: true });
});

it('waits, alive and not ready, until it is told to go', { timeout: TIMEOUT_MS }, async () => {
  await writeFile(notice, 'terminate');
  startWorker();
  await eventually(() => log.includes('worker waits on a machine that is being reclaimed'), { timeoutMs: TIMEOUT_MS });
  expect(await statusOf('/livez')).toBe(200);
  expect(await statusOf('/readyz')).toBe(503);
  expect(connectionCount).toBe(0);
  worker.kill('SIGTERM');
  expect(await exited).toEqual([0, null]);
  expect(connectionCount).toBe(0);
});

it('goes on once the notice is gone, and starts without one (control)', { timeout: TIMEOUT_MS }, async () => {
  await writeFile(notice, 'terminate');
  startWorker();
  await eventually(() => log.includes('worker waits on a machine that is being reclaimed'), { timeoutMs: TIMEOUT_MS });
  await rm(notice);
  await eventually(() => connectionCount > 0, { timeoutMs: TIMEOUT_MS });
});

function startWorker(): void {
  const { port } = brokers.address() as { port: number };
  const env = {
    TIDEMARK_KAFKA_BROKERS: `127.0.0.1:${port}`,
    TIDEMARK_REDIS_URL: `redis://127.0.0.1:${port}`,
    TIDEMARK_POSTGRES_URL: `postgres://nobody@127.0.0.1:${port}/none`,
    TIDEMARK_ENCRYPTION: 'off',
    TIDEMARK_WORKFLOWS: './test/integration/zombie-workflows.ts',
    TIDEMARK_SPOT_NOTICE_URL: pathToFileURL(notice).href,
    TIDEMARK_HEALTH_LISTEN: health,
  };
  worker = spawn(process.execPath, [...SERVICE_NODE_FLAGS, 'services/worker/src/main.ts'], {
    ...{ cwd: ROOT, env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'pipe'] },
  });
  exited = once(worker, 'exit');
  worker.stderr!.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
}

const statusOf = async (where: string): Promise<number> => (await fetch(`http://${health}${where}`)).status;
