/**
 * Owns whose turn it is in a state folder: first come, first served, so that none of many short commands overtakes one that waits, and no
 * step runs before a mirror that waits has taken what others wrote. A turn is a file that its process touches until it has opened the folder
 * or given up. Only the folder's lock decides who holds it: a turn that can't be written, or whose process is gone, is passed over.
 */

import { randomUUID } from 'node:crypto';
import { readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { TURN_STALE_MS } from '../limits.ts';

const TURN = /^\.(?:turn|mirror)-\d{15}-(\d+)-[0-9a-f]{8}$/;

/** A turn to open the folder, or of a mirror, to take what others wrote before steps run. */
type Kind = 'turn' | 'mirror';

export interface Turn {
  /** Nobody who still waits came earlier. */
  isFirst(): Promise<boolean>;
  end(): Promise<void>;
}

export async function takeTurn(folder: string, kind: Kind = 'turn'): Promise<Turn> {
  const name = `${begun(kind, Date.now())}-${process.pid}-${randomUUID().slice(0, 8)}`;
  const file = path.join(folder, name);
  await writeFile(file, '', { flag: 'wx', mode: 0o600 }).catch(() => {});
  const touch = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => {}), TURN_STALE_MS / 10);
  touch.unref();
  return {
    isFirst: async () => !(await isAnyBefore(folder, kind, name)),
    async end() {
      clearInterval(touch);
      await rm(file, { force: true }).catch(() => {});
    },
  };
}

/** Whether a mirror that waited at this time has not taken what others wrote until then. */
export const isMirrorWaiting = (folder: string, sinceMs: number): Promise<boolean> =>
  isAnyBefore(folder, 'mirror', begun('mirror', sinceMs));

const begun = (kind: Kind, atMs: number): string => `.${kind}-${String(atMs).padStart(15, '0')}`;

async function isAnyBefore(folder: string, kind: Kind, name: string): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  const others = names.filter((each) => TURN.test(each) && each.startsWith(`.${kind}-`) && each < name);
  for (const other of others.sort()) {
    const earlier = path.join(folder, other);
    if (await isWaiting(earlier, Number(TURN.exec(other)?.[1]))) return true;
    await rm(earlier, { force: true }).catch(() => {});
  }
  return false;
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
