/** Owns the service processes that tests and benchmarks start from source: their life, and measuring them from outside. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { SERVICE_NODE_FLAGS } from '@tidemark/host';
import { noteLine } from './evidence.ts';

const ROOT = path.resolve(import.meta.dirname, '../../..');
const TICKS_PER_S = 100;
/** Characters of a service's output in the error of a failed start. */
const NEWEST_CHARS = 4_000;

export interface ServiceProcess {
  readonly name: string;
  readonly pid: number;
  /** Asks it to end, and waits. Returns its exit code; null when a signal ended it. */
  stop(): Promise<number | null>;
  /** Ends it at once, as a lost machine would. */
  kill(): Promise<void>;
  /** Sends a signal such as SIGSTOP. */
  signal(signal: NodeJS.Signals): void;
}

/**
 * Starts a service from its source, with the flags of Node that services have, or others, and further ones from `TIDEMARK_SERVICE_FLAGS` (a
 * profile, for example); resolves when it reports its start.
 */
export async function startService(
  name: 'coordinator' | 'worker' | 'compactor',
  env: Readonly<Record<string, string>>,
  nodeFlags: readonly string[] = SERVICE_NODE_FLAGS,
): Promise<ServiceProcess> {
  const main = path.join(ROOT, 'services', name, 'src/main.ts');
  const flags = [...nodeFlags, ...(process.env.TIDEMARK_SERVICE_FLAGS ?? '').split(' ').filter((flag) => flag !== '')];
  const child = spawn(process.execPath, [...flags, main], {
    cwd: ROOT,
    // Of several on one machine only one could have the default port.
    env: { TIDEMARK_API_PORT: '0', ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  await started(name, child);
  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
    return child.exitCode;
  };
  return {
    name,
    pid: child.pid!,
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
    signal: (signal) => void child.kill(signal),
  };
}

async function started(name: string, child: ChildProcess): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let text = '';
  let newest = '';
  child.stderr!.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    newest = (newest + chunk).slice(-NEWEST_CHARS);
    for (const line of text.split('\n').slice(0, -1)) {
      if (line.includes(`"message":"${name} started"`)) resolve();
      else noteLine(name, line);
    }
    text = text.slice(text.lastIndexOf('\n') + 1);
  });
  child.once('exit', (code) => reject(new Error(`${name} exited with ${code}, and wrote:\n${newest}`)));
  await promise;
}

/** Processor seconds (user and system) that the process has used. */
export async function cpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
}

/** Resident memory now, and at its peak, in bytes. */
export async function memoryBytes(pid: number): Promise<{ readonly now: number; readonly peak: number }> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  const kilobytes = (name: string): number => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0);
  return { now: kilobytes('VmRSS') * 1_024, peak: kilobytes('VmHWM') * 1_024 };
}

/** Proportional share of memory, in bytes: shared memory is counted once. Throws when the process is gone. */
export async function pssBytes(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+) kB/m.exec(text)?.[1] ?? 0) * 1_024;
}
