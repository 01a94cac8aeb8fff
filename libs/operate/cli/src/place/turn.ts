/**
 * Owns whose turn it is in a state folder: first come, first served, so that none of many short commands overtakes one that waits, no step
 * runs before a mirror that waits has taken what others wrote, and no run ends before its mirrors have its end. A turn is a file that its process touches until it has opened the folder
 * or given up. Only the folder's lock decides who holds it: a turn that can't be written, or whose process is gone, is passed over.
 */

import { randomUUID } from 'node:crypto';
import { readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RETRY_PAUSE_MS, TURN_STALE_MS } from '../limits.ts';

const TURN = /^\.(?:turn|mirror)-\d{15}-(\d+)-[0-9a-f]{8}$/;

/** A turn to open the folder, or of a mirror, to take what others wrote before steps run. */
type Kind = 'turn' | 'mirror';

export interface Turn {
  /** Nobody who still waits came earlier. */
  isFirst(): Promise<boolean>;
  /** Of a mirror: it has taken what was written until then, and waits from then on. */
  renew(atMs: number): Promise<void>;
  end(): Promise<void>;
}

export async function takeTurn(folder: string, kind: Kind = 'turn'): Promise<Turn> {
  const id = `-${process.pid}-${randomUUID().slice(0, 8)}`;
  const nameAt = (atMs: number): string => `${begun(kind, atMs)}${id}`;
  let name = nameAt(Date.now());
  const file = (): string => path.join(folder, name);
  const write = (): Promise<void> => writeFile(file(), '', { flag: 'wx', mode: 0o600 }).catch(() => {});
  await write();
  // One change at a time. The folder may be made, or cleared, only now.
  let changing = Promise.resolve();
  const change = (work: () => Promise<unknown>): Promise<void> =>
    (changing = changing.then(work).then(() => {}, write));
  const touch = setInterval(() => void change(() => utimes(file(), new Date(), new Date())), TURN_STALE_MS / 10);
  touch.unref();
  return {
    isFirst: async () => !(await isAnyBefore(folder, kind, name)),
    renew: (atMs) =>
      change(async () => {
        const before = file();
        name = nameAt(atMs);
        await rename(before, file());
      }),
    async end() {
      clearInterval(touch);
      await change(() => rm(file(), { force: true }));
    },
  };
}

/** Waits until each mirror that was there at this time has made a pass since then. False: one hasn't, for so long. */
export async function awaitMirrors(folder: string, sinceMs: number, waitMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + waitMs;
  while (await isAnyBefore(folder, 'mirror', begun('mirror', sinceMs))) {
    if (performance.now() > deadlineMs) return false;
    await sleep(RETRY_PAUSE_MS);
  }
  return true;
}

const begun = (kind: Kind, atMs: number): string => `.${kind}-${String(atMs).padStart(15, '0')}`;

async function isAnyBefore(folder: string, kind: Kind, name: string): Promise<boolean> {
  const names = await readdir(folder).catch(() => []);
  const others = names.filter((each) => TURN.test(each) && each.startsWith(`.${kind}-`) && each < name);
  for (const other of others.sort()) {
    const earlier = path.join(folder, other);
    const waits = await isWaiting(earlier, Number(TURN.exec(other)?.[1]));
    // Renewed meanwhile, maybe to a time that is before, too.
    if (waits === undefined) return isAnyBefore(folder, kind, name);
    if (waits) return true;
    await rm(earlier, { force: true }).catch(() => {});
  }
  return false;
}

/** Undefined: it is there no more. */
async function isWaiting(file: string, pid: number): Promise<boolean | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (found === undefined) return undefined;
  if (Math.abs(Date.now() - found.mtimeMs) > TURN_STALE_MS) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
