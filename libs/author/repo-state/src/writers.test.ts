/** Writers at once, as processes of their own and in one: nothing is lost, and a dead one is in nobody's way. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { testPlace } from './place-fixture.ts';

const COUNTER = path.join(import.meta.dirname, '../fixtures/counter.ts');
const WRITER = path.join(import.meta.dirname, '../fixtures/writer.ts');
const TIMEOUT_MS = 300_000;

function writer(folder: string, agent: string, count: number): ChildProcess {
  const child = spawn(process.execPath, [WRITER, folder, agent, String(count)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  return child;
}

it(
  'four processes at once lose nothing',
  async () => {
    const { open, folder, list } = await testPlace({ onTestFinished });
    await open().init({ stages: ['a'] });
    const agents = ['ann', 'bob', 'cyd', 'dan'];
    const ends = agents.map((agent) => once(writer(folder, agent, 25), 'exit'));
    expect((await Promise.all(ends)).map(([code]) => code)).toEqual([0, 0, 0, 0]);
    const { state } = await open().show();
    for (const agent of agents) {
      // Each agent's own are in the order in which it wrote them.
      const own = state?.notes.filter((note) => note.agent === agent).map(({ text }) => text);
      expect(own).toEqual(Array.from({ length: 25 }, (_, at) => `${agent} ${at}`));
    }
    expect(Object.keys(state?.artifacts ?? {})).toHaveLength(100);
    expect(await list()).toEqual(['.gitignore', 'audit-state.json']);
  },
  TIMEOUT_MS,
);

it(
  'four processes at once lose nothing under a lock whose file goes with it, and leave no file',
  async () => {
    const { folder } = await testPlace({ onTestFinished });
    const file = path.join(folder, 'count');
    await writeFile(file, '0');
    const counters = Array.from({ length: 4 }, () =>
      spawn(process.execPath, [COUNTER, file, '100'], { stdio: 'inherit' }),
    );
    for (const counter of counters) onTestFinished(() => void counter.kill('SIGKILL'));
    const ends = await Promise.all(counters.map((counter) => once(counter, 'exit')));
    expect(ends.map(([code]) => code)).toEqual([0, 0, 0, 0]);
    expect(await readFile(file, 'utf8')).toBe('400');
    expect(await readdir(folder)).toEqual(['.git', 'count']);
  },
  TIMEOUT_MS,
);

/** How many of twenty notes are kept. Without the lock a writer may also remove another's temporary file, which fails it. */
const writeAtOnce = async (options: Parameters<Awaited<ReturnType<typeof testPlace>>['open']>[0]): Promise<number> => {
  const { open, clock } = await testPlace({ onTestFinished });
  await open().init({ stages: [] });
  const tick = (): number => (clock.nowMs += 1);
  const notes = Array.from({ length: 20 }, (_, at) => open({ ...options, now: tick }).checkpoint({ note: `n${at}` }));
  await Promise.allSettled(notes);
  return (await open().show()).state?.notes.length ?? 0;
};

it('many in one process lose nothing', async () => {
  expect(await writeAtOnce({})).toBe(20);
});

it('control: without the lock, they do', async () => {
  expect(await writeAtOnce({ lock: (_file, _waitMs, work) => work() })).toBeLessThan(20);
});

it(
  'the lock of a killed process is free at once; that of a living one is waited for',
  async () => {
    const { open, folder, state } = await testPlace({ onTestFinished });
    await open().init({ stages: ['a'] });
    const holder = writer(folder, 'holder', 0);
    await once(holder.stdout!, 'data');
    await expect(open({ lockWaitMs: 100 }).checkpoint({ note: 'early' })).rejects.toMatchObject({
      code: 'state-locked',
    });
    // Reading needs no lock.
    expect((await open().resume()).line).toContain('stage 1: a.');
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    await Promise.all(['one', 'two', 'three'].map((note) => open({ lockWaitMs: 10_000 }).checkpoint({ note })));
    expect((await state()).notes.map(({ text }) => text).sort()).toEqual(['one', 'three', 'two']);
  },
  TIMEOUT_MS,
);

it('a writer that died in the middle leaves a whole state, and its rest is removed, and nothing else', async () => {
  const { open, write, list } = await testPlace({ onTestFinished });
  await open().init({ stages: ['a'] });
  const rest = `${crypto.randomUUID()}.tmp`;
  await write('{"half', `audit-state.json.${rest}`);
  const others = [`audit-state.json.mine-${rest}`, 'audit-state.json.mine.tmp', `other-state.json.${rest}`];
  for (const other of others) await write('other', other);
  expect(await open().resume()).toMatchObject({ warnings: [] });
  await open().checkpoint({ note: 'x' });
  expect(await list()).toEqual(['.gitignore', 'audit-state.json', ...others]);
});
