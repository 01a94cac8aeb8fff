/**
 * `npm run bench -- control --only commands`: `tidemark ls` from its start as a process to its end: asking a server of a cluster, the process that
 * holds a folder, and a folder that nobody holds; beside it what Node and the command alone take. Rounds are interleaved.
 */

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { median, type Report } from '../report.ts';
import { onCluster } from './cluster.ts';

const ROUNDS = 11;
const ROOT = path.resolve(import.meta.dirname, '../../..');
const BIN = path.join(ROOT, 'libs/cli/bin/tidemark.js');
const WORKFLOWS = path.join(import.meta.dirname, 'workflows.ts');

/** In milliseconds. */
function timed(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): number {
  const beganMs = performance.now();
  const { status, stderr } = spawnSync(process.execPath, args, { cwd, env, encoding: 'utf8' });
  const tookMs = performance.now() - beganMs;
  if (status !== 0) throw new Error(`node ${args.join(' ')}: ${status} ${stderr}`);
  return tookMs;
}

/** Once it says where its API is. */
async function startDev(cwd: string, env: NodeJS.ProcessEnv): Promise<ChildProcess> {
  const dev = spawn(process.execPath, [BIN, 'dev', '--workflows', WORKFLOWS, '--port', '0'], { cwd, env });
  let said = '';
  for await (const chunk of dev.stdout) {
    said += String(chunk);
    if (/ api +http/.test(said)) return dev;
  }
  throw new Error(`tidemark dev ended: ${said}`);
}

export async function measureCommands(report: Report): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-commands-'));
  const [held, free] = [path.join(folder, 'held'), path.join(folder, 'free')];
  const env = { ...process.env, TIDEMARK_CONTEXTS: path.join(folder, 'contexts.json') };
  await cp(WORKFLOWS, path.join(held, 'workflows.ts'));
  const first = await startDev(held, env);
  first.kill('SIGINT');
  await once(first, 'exit');
  await cp(held, free, { recursive: true });
  const dev = await startDev(held, env);
  try {
    await onCluster({ worker: false }, async ({ url }) => {
      report.note('control: tidemark ls as a process, medians of interleaved rounds');
      const contenders: Readonly<Record<string, () => number>> = {
        node: () => timed(['-e', '0'], folder, env),
        version: () => timed([BIN, '--version'], folder, env),
        ls_server: () => timed([BIN, 'ls'], folder, { ...env, TIDEMARK_URL: url }),
        ls_held: () => timed([BIN, 'ls'], held, env),
        ls_opened: () => timed([BIN, 'ls'], free, env),
      };
      const took = new Map(Object.keys(contenders).map((name) => [name, [] as number[]]));
      // The first of each compiles what the others find in the cache.
      for (let round = 0; round <= ROUNDS; round++) {
        for (const [name, take] of Object.entries(contenders)) {
          const ms = take();
          if (round > 0) took.get(name)?.push(ms);
        }
      }
      for (const [name, all] of took) report.add(`control.command.${name}_ms`, median(all), 'ms');
    });
  } finally {
    dev.kill('SIGINT');
    await once(dev, 'exit');
    await rm(folder, { recursive: true, force: true });
  }
}
