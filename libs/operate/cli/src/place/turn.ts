/**
 * Owns whose turn it is to open a state folder: first come, first served, so that none of many short commands overtakes one that waits. A
 * turn is a file that its process touches until it has opened the folder or given up. Only the folder's lock decides who holds it: a turn
 * that can't be written, or whose process is gone, costs fairness alone.
 */

import { randomUUID } from 'node:crypto';
import { readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { TURN_STALE_MS } from '../limits.ts';

const TURN = /^\.turn-\d{15}-(\d+)-[0-9a-f]{8}$/;

export interface Turn {
  /** Nobody who still waits came earlier. */
  isFirst(): Promise<boolean>;
  end(): Promise<void>;
}

export async function takeTurn(folder: string): Promise<Turn> {
  const name = `.turn-${String(Date.now()).padStart(15, '0')}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const file = path.join(folder, name);
  await writeFile(file, '', { flag: 'wx', mode: 0o600 }).catch(() => {});
  const touch = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => {}), TURN_STALE_MS / 10);
  touch.unref();
  return {
    async isFirst() {
      const names = await readdir(folder).catch(() => []);
      for (const other of names.filter((each) => TURN.test(each) && each < name).sort()) {
        const earlier = path.join(folder, other);
        if (await isWaiting(earlier, Number(TURN.exec(other)?.[1]))) return false;
        await rm(earlier, { force: true }).catch(() => {});
      }
      return true;
    },
    async end() {
      clearInterval(touch);
      await rm(file, { force: true }).catch(() => {});
    },
  };
}

async function isWaiting(file: string, pid: number): Promise<boolean> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined || Math.abs(Date.now() - found.mtimeMs) > TURN_STALE_MS) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
