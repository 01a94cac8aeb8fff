/**
 * Owns the names of temporary files, and finding those that were left behind. A name contains the machine, the process and its start, so
 * that a file of a living process is never taken for a leftover, even when process ids are used again (in a container every process may be
 * number 1).
 */

import { readdir, stat, unlink } from 'node:fs/promises';
import { hostname } from 'node:os';
import path from 'node:path';

/** Age after which a temporary file of another machine (a shared folder) certainly was left behind. */
export const FOREIGN_TEMPORARY_MAX_MS = 24 * 60 * 60 * 1_000;

const machine = Buffer.from(hostname()).toString('hex');
const startedMs = Math.round(performance.timeOrigin);
let count = 0;

export function temporaryName(): string {
  count += 1;
  return `${machine}-${process.pid}-${startedMs}-${count}`;
}

/** Removes what dead processes left in the folder. A folder that can't be read or written stays as it is. */
export async function removeAbandoned(folder: string, nowMs: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) {
    const file = path.join(folder, name);
    if (await isAbandoned(file, name, nowMs)) await unlink(file).catch(() => {});
  }
}

async function isAbandoned(file: string, name: string, nowMs: number): Promise<boolean> {
  const [, host, pid, started] = /^([0-9a-f]*)-(\d+)-(\d+)-\d+$/.exec(name) ?? [];
  if (pid === undefined) return false;
  if (host === machine) {
    if (Number(pid) === process.pid) return Number(started) !== startedMs;
    if (!alive(Number(pid))) return true;
  }
  const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: nowMs }));
  return nowMs - mtimeMs > FOREIGN_TEMPORARY_MAX_MS;
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives and belongs to someone else.
    return (error as { code?: unknown }).code === 'EPERM';
  }
}
