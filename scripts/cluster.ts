/**
 * `npm run cluster`: one coordinator, one worker and one compactor as separate processes, against the servers named in the environment, or
 * else against native ones that it starts and ends itself. It restarts one that dies. Ctrl-C hands over and ends everything.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { EXIT, SERVICE_NODE_FLAGS } from '@tidemark/host';
import { startClusterServers } from '@tidemark/testkit/servers';

const ROOT = path.resolve(import.meta.dirname, '..');
const SERVICES = ['coordinator', 'worker', 'compactor'] as const;
/** Pause before a service that died is restarted, in milliseconds. */
const RESTART_PAUSE_MS = 1_000;
/** Exit codes that a restart does not cure: docs/deploy.md. */
const FATAL: ReadonlySet<number | null> = new Set([EXIT.corrupt, EXIT.config]);
const DEFAULT_WORKFLOWS = ['loop', 'fan-out', 'effect'].map((name) => `./examples/patterns/src/${name}.ts`).join(',');

const env = { ...process.env };
env.TIDEMARK_WORKFLOWS ??= DEFAULT_WORKFLOWS;

let stopServers = async (): Promise<void> => {};
if (env.TIDEMARK_KAFKA_BROKERS === undefined) {
  const servers = await startClusterServers();
  const keysFolder = path.join(tmpdir(), `tidemark-cluster-${process.pid}`);
  stopServers = async () => {
    await servers.stop();
    await rm(keysFolder, { recursive: true, force: true });
  };
  env.TIDEMARK_KAFKA_BROKERS = servers.kafka.address;
  env.TIDEMARK_REDIS_URL = servers.redis.address;
  env.TIDEMARK_POSTGRES_URL = servers.postgres.address;
  env.TIDEMARK_KEYS_URL = pathToFileURL(path.join(keysFolder, 'keys.json')).href;
  // For users of this machine, as the servers are.
  env.TIDEMARK_AUTH ??= 'off';
  env.TIDEMARK_URL = `http://127.0.0.1:${env.TIDEMARK_API_PORT || '7070'}`;
  // Not the key: it ends with this, and what else is done in that shell must not come to need it.
  const names = ['KAFKA_BROKERS', 'REDIS_URL', 'POSTGRES_URL', 'WORKFLOWS', 'URL'].map((name) => `TIDEMARK_${name}`);
  process.stdout.write(
    `servers started here; in another terminal:\n${names.map((name) => `  export ${name}=${env[name]}\n`).join('')}`,
  );
  process.stdout.write(`  npm run tidemark -- ls
  TIDEMARK_KEYS_URL=${env.TIDEMARK_KEYS_URL} npm run tidemark -- admin doctor\n`);
  process.stdout.write('A further worker needs that key as well. Their data is in memory, and gone when this ends.\n');
}

const children = new Map<string, ChildProcess>();
let ending = false;

async function end(exitCode: number): Promise<void> {
  if (ending) return;
  ending = true;
  for (const child of children.values()) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    const exited = once(child, 'exit');
    child.kill('SIGTERM');
    await exited;
  }
  await stopServers();
  process.exit(exitCode);
}

function start(name: (typeof SERVICES)[number]): void {
  const child = spawn(process.execPath, [...SERVICE_NODE_FLAGS, path.join(ROOT, 'services', name, 'src/main.ts')], {
    env,
    stdio: 'inherit',
    cwd: process.cwd(),
  });
  children.set(name, child);
  child.once('exit', (code, signal) => {
    if (ending) return;
    const isFatal = FATAL.has(code);
    process.stderr.write(
      `${name} ended (${signal ?? code}); ${isFatal ? 'ending the others' : 'it is started again'}\n`,
    );
    if (isFatal) void end(code!);
    else setTimeout(() => ending || start(name), RESTART_PAUSE_MS);
  });
}

for (const name of SERVICES) start(name);
// A terminal sends Ctrl-C to the children as well; they hand over, and this waits for them.
process.once('SIGINT', () => void end(0));
process.once('SIGTERM', () => void end(0));
// The terminal was closed.
process.once('SIGHUP', () => void end(0));
