/** Owns the tests of upgrading a file to a next format: in place, once, and wholly or not at all, when it is opened. */

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { partition } from '@tidemark/core';
import { record } from '@tidemark/testkit/contracts/event-log-under-test';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSqliteLog } from './index.ts';
import { defaultLimits } from './limits.ts';
import { openFile } from './open-file.ts';

const UPGRADES = ['alter table records add column more text', 'create table further (a)'];
const COUNT = 20;
let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tidemark-upgrade-'));
  file = path.join(folder, 'log.db');
  const log = await openSqliteLog({ folder });
  for (let at = 0; at < COUNT; at++) await log.append(partition(0), [record(`record ${at}`)]);
  await log.close();
});
afterEach(() => rm(folder, { recursive: true }));

const formatInFile = async (): Promise<number> => (await readFile(file)).readUInt32BE(60);

function opened(upgrades: readonly string[]): unknown {
  const database = openFile(file, 'normal', defaultLimits, upgrades);
  const found = database.prepare('select count(*) as count, count(more) as more from records').get();
  database.close();
  return found;
}

test('what it holds stays; the release before is told that it is newer, and later ones upgrade it once', async () => {
  expect(opened(UPGRADES.slice(0, 1))).toEqual({ count: COUNT, more: 0 });
  expect(await formatInFile()).toBe(2);
  await expect(openSqliteLog({ folder })).rejects.toMatchObject({ code: 'log-newer' });
  for (let times = 0; times < 2; times++) expect(opened(UPGRADES)).toEqual({ count: COUNT, more: 0 });
  expect(await formatInFile()).toBe(3);
});

test('one that fails half-way leaves the file as it was', async () => {
  expect(() => opened([`${UPGRADES[0]}; create nonsense`])).toThrow('syntax error');
  const log = await openSqliteLog({ folder });
  await log.close();
  expect(await formatInFile()).toBe(1);
  expect(opened(UPGRADES)).toEqual({ count: COUNT, more: 0 });
});
