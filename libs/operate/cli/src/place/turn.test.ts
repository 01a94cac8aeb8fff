/** Who opens a folder when several wait for it: the first, and nobody for ever. */

import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { ConfigError } from '@tidemark/core';
import { expect, it, onTestFinished, vi } from 'vitest';
import { RETRY_PAUSE_MS } from '../limits.ts';
import { placeOr } from './place.ts';
import { awaitMirrors, takeTurn } from './turn.ts';

async function folder() {
  const root = await mkdtemp(path.join(os.tmpdir(), 'tidemark-turn-'));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return { kind: 'embedded', folder: root, shown: 'state', env: {} } as const;
}

const busy = (pid: number): ConfigError => new ConfigError('log-locked', 'in use', { pid });
const WAIT_MS = 300;

it('waits on while others hold it one after another, and no longer than it says for one that never answers', async () => {
  const target = await folder();
  const startedMs = performance.now();
  // Each holds it for less than the wait, and together they hold it for longer.
  const inTurn = async () => {
    const passedMs = performance.now() - startedMs;
    if (passedMs < 3 * WAIT_MS) throw busy(Math.floor(passedMs / (WAIT_MS / 2)) + 1);
    return 'held';
  };
  expect(await placeOr(target, 'ana', inTurn, { waitMs: WAIT_MS })).toBe('held');
  const same = placeOr(target, 'ana', () => Promise.reject(busy(7)), { waitMs: WAIT_MS });
  await expect(same).rejects.toMatchObject({ code: 'log-locked', message: expect.stringContaining('process 7') });
  expect(await readdir(target.folder)).toEqual([]);
});

it('keeps its turn for as long as it has patience, and ends with who wanted it', async () => {
  const target = await folder();
  const ended = new AbortController();
  const waiting = placeOr(target, 'ana', () => Promise.reject(busy(7)), { waitMs: 60_000, signal: ended.signal });
  const turns = async () => (await readdir(target.folder)).filter((name) => name.startsWith('.turn-'));
  await expect.poll(async () => (await turns()).length).toBe(1);
  ended.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'log-locked' });
  expect(await turns()).toEqual([]);
});

it('is the turn of one at a time', async () => {
  const { folder: at } = await folder();
  const turns = [await takeTurn(at), await takeTurn(at)];
  const isFirst = () => Promise.all(turns.map((turn) => turn.isFirst()));
  expect((await isFirst()).filter(Boolean)).toHaveLength(1);
  for (const turn of turns) await turn.end();
  expect(await readdir(at)).toEqual([]);
});

it('of a mirror is waited for by the holder who comes after it, until that has taken what others wrote', async () => {
  const { folder: at } = await folder();
  const mirror = await takeTurn(at, 'mirror');
  const hasTaken = (sinceMs: number) => awaitMirrors(at, sinceMs, 0);
  await expect.poll(() => hasTaken(Date.now())).toBe(false);
  // A pass that began before doesn't count; with the turn of a later one it waits for the next holder.
  const heldAtMs = Date.now();
  await mirror.renew(heldAtMs - 1);
  expect(await hasTaken(heldAtMs)).toBe(false);
  const taken = awaitMirrors(at, heldAtMs, 60_000);
  await mirror.renew(heldAtMs);
  expect(await taken).toBe(true);
  await expect.poll(() => hasTaken(Date.now())).toBe(false);
  // The turns of those who open the folder are others.
  const turn = await takeTurn(at);
  expect(await turn.isFirst()).toBe(true);
  for (const each of [turn, mirror]) await each.end();
  // Of a process that is gone.
  await writeFile(path.join(at, '.mirror-000000000000001-999999999-0123abcd'), '');
  expect(await hasTaken(Date.now())).toBe(true);
  expect(await readdir(at)).toEqual([]);
});

it('that leads nowhere, or can not be looked at, is not looked at for ever', async () => {
  const { folder: at } = await folder();
  // One of a process that lives counts until it is stale, as any other.
  const name = (pid: number) => `.mirror-000000000000001-${pid}-0123abcd`;
  await symlink('nowhere', path.join(at, name(process.pid)));
  expect(await awaitMirrors(at, Date.now(), 0)).toBe(false);
  await rename(path.join(at, name(process.pid)), path.join(at, name(999_999_999)));
  expect(await awaitMirrors(at, Date.now(), 0)).toBe(true);
  expect(await readdir(at)).toEqual([]);
});

it('is there as soon as its folder is, for a command that makes the folder and is gone in a second', async () => {
  const { folder: root } = await folder();
  const at = path.join(root, 'made-later');
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const turn = await takeTurn(at, 'mirror');
  await mkdir(at);
  vi.advanceTimersByTime(RETRY_PAUSE_MS);
  // A poll would let them run on.
  vi.useRealTimers();
  await expect.poll(() => readdir(at), { timeout: 5_000 }).toEqual([expect.stringMatching(/^\.mirror-/)]);
  await turn.end();
  expect(await readdir(at)).toEqual([]);
});

it('of a mirror is waited for no longer by who is interrupted', async () => {
  const { folder: at } = await folder();
  const mirror = await takeTurn(at, 'mirror');
  const interruption = new AbortController();
  const taken = awaitMirrors(at, Date.now() + 1, 60_000, interruption.signal);
  interruption.abort();
  expect(await taken).toBe(false);
  await mirror.end();
});

it('lets nobody overtake, and waits for no turn of a process that is gone', async () => {
  const target = await folder();
  await writeFile(path.join(target.folder, '.turn-000000000000001-999999999-0123abcd'), '');
  const order: string[] = [];
  let isHeld = true;
  let tries = 0;
  const hold = (name: string) => async () => {
    tries += 1;
    if (isHeld) throw busy(1);
    order.push(name);
    return name;
  };
  const first = placeOr(target, 'ana', hold('first'), { waitMs: 60_000 });
  await expect.poll(() => tries).toBeGreaterThan(1);
  const others = Array.from({ length: 5 }, (_, at) => placeOr(target, 'ana', hold(`later ${at}`), { waitMs: 60_000 }));
  await expect.poll(async () => (await readdir(target.folder)).length).toBe(6);
  isHeld = false;
  await Promise.all([first, ...others]);
  expect(order[0]).toBe('first');
  expect(await readdir(target.folder)).toEqual([]);
});
