/** Rows rebuilt by command: what an interrupted rebuild has left is told, gone on from, and thrown away where that is wanted. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { callCli, hold } from './called-cli-fixture.ts';
import { openRebuild } from './place/admin-place.ts';

const MODULE = path.resolve(import.meta.dirname, '../../../../examples/patterns/src/fan-out.ts');
let cwd: string;
beforeEach(async () => {
  cwd = await mkdtemp(path.join(tmpdir(), 'tidemark-rebuild-'));
});
afterEach(() => rm(cwd, { recursive: true, force: true }));

const call = (...args: string[]) => callCli([...args, '--state', 'state'], { cwd, env: {} });
const json = async (...args: string[]) => JSON.parse((await call(...args, '--json')).out) as Record<string, unknown>;
const folds = async () => {
  const { checks } = (await json('admin', 'doctor', '--rows')) as {
    readonly checks: readonly { readonly check: string }[];
  };
  return checks.filter(({ check }) => check === 'Fold' || check === 'Rebuild');
};

it('what an interrupted rebuild left is told by doctor, and gone on from or thrown away', async () => {
  await call('run', 'count-lines', '--workflows', MODULE, '--id', 'one', '--input', JSON.stringify({ directory: cwd }));
  const sound = { check: 'Fold', level: 'ok' };
  expect(await folds()).toEqual([expect.objectContaining(sound)]);
  const target = { kind: 'embedded', folder: path.join(cwd, 'state'), shown: 'state', env: {} } as const;
  const interrupt = async (): Promise<void> => {
    const opened = await openRebuild(target, 'switch', {
      onProgress: () => {
        throw new Error('this process ends here');
      },
    });
    await expect(opened.rows.switchOver()).rejects.toThrow();
    await opened.close();
  };
  await interrupt();
  const left = { check: 'Rebuild', level: 'warn', remedy: expect.stringContaining('--from-nothing') };
  expect(await folds()).toEqual([expect.objectContaining(left), expect.objectContaining(sound)]);
  const rest = (await json('admin', 'rebuild')).log_entries as number;
  await interrupt();
  const all = (await json('admin', 'rebuild', '--from-nothing')).log_entries as number;
  expect(all).toBeGreaterThan(rest);
  expect(await folds()).toEqual([expect.objectContaining(sound)]);
  const release = await hold({ cwd, state: 'state' });
  const beside = await call('admin', 'rebuild');
  const refused = `error: Process ${process.pid} (tidemark dev) holds state, and tidemark admin works on the state itself. End that process first.\n`;
  expect([beside.code, beside.err]).toEqual([78, refused]);
  await release();
  expect((await call('admin', 'rebuild')).out).toMatch(new RegExp(`Folded ${all} log entries from log and archive`));
});
