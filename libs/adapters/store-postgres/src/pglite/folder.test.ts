/** The folder of a PGlite database before it holds anything. */

import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os, { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { takeFolder } from './folder.ts';
import { cacheFolder } from './template.ts';

let parent: string;
beforeEach(() => {
  parent = mkdtempSync(path.join(tmpdir(), 'tidemark-pglite-folder-'));
});
afterEach(() => rmSync(parent, { recursive: true }));

test('what made it is written through no link', () => {
  const [folder, mine] = [path.join(parent, 'folder'), path.join(parent, 'mine')];
  mkdirSync(folder);
  writeFileSync(mine, 'mine');
  for (const name of ['format.json', 'format.json.new']) {
    symlinkSync(name === 'format.json' ? path.join(parent, 'nowhere') : mine, path.join(folder, name));
  }
  const taken = takeFolder(folder);
  mkdirSync(taken.data);
  taken.completed();
  taken.release();
  expect(readFileSync(mine, 'utf8')).toBe('mine');
  expect(JSON.parse(readFileSync(path.join(folder, 'format.json'), 'utf8'))).toMatchObject({ complete: true });
});

test('the cache is never in the folder in which a command is given', () => {
  const cache = (of: string) => path.relative(os.homedir(), cacheFolder({ XDG_CACHE_HOME: of }));
  expect([cache('cache'), cache('./cache'), cache('')]).toEqual(Array(3).fill('.cache/tidemark'));
  expect(cacheFolder({ XDG_CACHE_HOME: parent })).toBe(path.join(parent, 'tidemark'));
});
