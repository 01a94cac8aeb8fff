/** What git sees of states: asked of git itself. */

import { execFileSync } from 'node:child_process';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { gitignoreFor } from './gitignore.ts';
import { type TestPlace, testPlace } from './place-fixture.ts';

async function inGit({ folder }: TestPlace): Promise<() => readonly string[]> {
  await rm(path.join(folder, '.git'), { recursive: true });
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: folder, encoding: 'utf8' });
  git('init', '--quiet');
  return () =>
    git('status', '--porcelain', '--untracked-files=all')
      .split('\n')
      .filter(Boolean)
      .map((line) => line.slice(3));
}

it('shows nothing of a state that is not shared', async (context) => {
  const place = await testPlace(context);
  const seen = await inGit(place);
  await place.open().init({ stages: ['a'] });
  await place.write('{"cut', 'audit-state.json');
  await place.open().resume();
  expect(await place.list()).toContain('audit-state.json.corrupt');
  expect(seen()).toEqual([]);
});

it('shows the shared state and its archive, and never locks, backups, damaged files and conflicts', async (context) => {
  const place = await testPlace(context);
  const seen = await inGit(place);
  const audit = place.open();
  await audit.init({ stages: ['a'], shared: true });
  await place.open({ name: 'private' }).init({ stages: [] });
  await audit.migrate({ to: 2 });
  await place.write('{', 'audit-state.json.corrupt');
  await place.write('{', 'archive.tmp');
  expect(seen()).toEqual(['.workflow-state/.gitignore', '.workflow-state/audit-state.json']);
  await audit.complete({ open: true });
  expect(seen()).toEqual(['.workflow-state/.gitignore', expect.stringMatching(/archive\/audit-state-.*\.json$/)]);
});

it('puts its lines right again, and leaves those of the user', async (context) => {
  const place = await testPlace(context);
  await place.write('mine\n', '.gitignore');
  await place.open().init({ stages: ['a'] });
  const right = await place.read('.gitignore');
  expect(right).toMatch(/^mine\n# Kept/);
  await place.write(right.replace('*.lock\n', '').concat('mine too\n'), '.gitignore');
  await place.open().checkpoint({ note: 'x' });
  expect(await place.read('.gitignore')).toBe(`${right}mine too\n`);
});

it('keeps the lines of other states, and changes nothing that is right', () => {
  const both = gitignoreFor(gitignoreFor(undefined, 'a', true), 'b', true)!;
  expect(both).toContain('!a-state.json\n');
  expect(both).toContain('!b-state.json\n');
  expect(gitignoreFor(both, 'a', true)).toBeUndefined();
  const onlyA = gitignoreFor(both, 'b', false)!;
  expect(onlyA).toBe(gitignoreFor(undefined, 'a', true));
});

it('says so when another rule ignores what is to be shared', async (context) => {
  const place = await testPlace(context);
  await inGit(place);
  await writeFile(path.join(place.folder, '.gitignore'), '.workflow-state/\n');
  expect((await place.open().init({ stages: [], shared: true })).warnings).toEqual([
    expect.stringContaining('git ignores'),
  ]);
});
