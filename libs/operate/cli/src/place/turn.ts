/**
 * Owns whose turn it is in a state folder: first come, first served, so that none of many short commands overtakes one that waits, no step
 * runs before a mirror that waits has taken what others wrote, and no run ends before its mirrors have its end. A turn is a file that its
 * process touches until it has opened the folder or given up. Only the folder's lock decides who holds it: a turn that can't be written or
 * looked at, or whose process is gone, is passed over.
 */

import { randomUUID } from 'node:crypto';
import { lstat, readdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RETRY_PAUSE_MS, TURN_STALE_MS } from '../limits.ts';

/** Looks at a folder in a row, while turns in it are renewed; then somebody is before, and it is looked at again after a pause. */
const LOOKS_MAX_COUNT = 5;

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
  let isWritten = false;
  const write = (): Promise<void> =>
    writeFile(file(), '', { flag: 'wx', mode: 0o600 }).then(
      () => {
        isWritten = true;
      },
      () => {},
    );
  await write();
  // One change at a time. The folder may be made, or cleared, only now.
  let changing = Promise.resolve();
  const change = (work: () => Promise<unknown>): Promise<void> =>
    (changing = changing.then(work).then(() => {}, write));
  const touch = setInterval(() => void change(() => utimes(file(), new Date(), new Date())), TURN_STALE_MS / 10);
  touch.unref();
  // Who makes the folder may be gone before the next touch, and would not know of this turn.
  const begin = setInterval(() => (isWritten ? clearInterval(begin) : void change(write)), RETRY_PAUSE_MS);
  begin.unref();
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
      clearInterval(begin);
      await change(() => rm(file(), { force: true }));
    },
  };
}

/** Waits until each mirror that was there at this time has made a pass since then. False: one hasn't, for so long or until the signal. */
export async function awaitMirrors(
  folder: string,
  sinceMs: number,
  waitMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const deadlineMs = performance.now() + waitMs;
  while (await isAnyBefore(folder, 'mirror', begun('mirror', sinceMs))) {
    if (performance.now() > deadlineMs || signal?.aborted) return false;
    await sleep(RETRY_PAUSE_MS, undefined, { signal }).catch(() => {});
  }
  return true;
}

const begun = (kind: Kind, atMs: number): string => `.${kind}-${String(atMs).padStart(15, '0')}`;

async function isAnyBefore(folder: string, kind: Kind, name: string): Promise<boolean> {
  for (let looks = 0; looks < LOOKS_MAX_COUNT; looks += 1) {
    const found = await isAnyFound(folder, kind, name);
    if (found !== undefined) return found;
  }
  return true;
}

/** Undefined: one was renewed meanwhile, maybe to a time that is before, too. */
async function isAnyFound(folder: string, kind: Kind, name: string): Promise<boolean | undefined> {
  const names = await readdir(folder).catch(() => []);
  const others = names.filter((each) => TURN.test(each) && each.startsWith(`.${kind}-`) && each < name);
  for (const other of others.sort()) {
    const earlier = path.join(folder, other);
    const waits = await isWaiting(earlier, Number(TURN.exec(other)?.[1]));
    if (waits === undefined) return undefined;
    if (waits) return true;
    await rm(earlier, { force: true }).catch(() => {});
  }
  return false;
}

/** Undefined: it is there no more. */
async function isWaiting(file: string, pid: number): Promise<boolean | undefined> {
  try {
    // Of a link itself, since one to nowhere would look renewed.
    const { mtimeMs } = await lstat(file);
    if (Math.abs(Date.now() - mtimeMs) > TURN_STALE_MS) return false;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? undefined : code === 'EPERM';
  }
}
