/** What the command tells of a run that is paused, resumed, cancelled and terminated. */

import path from 'node:path';
import { expect, it } from 'vitest';
import { hold } from './called-cli-fixture.ts';
import { cliFolder } from './spawned-cli-fixture.ts';

const MODULE = path.resolve(import.meta.dirname, '../fixtures/versions-old.ts');

it('is done to a run that another process holds, and to a folder that nobody does', async (context) => {
  const { folder, start, here } = await cliFolder(context);
  const dev = start('dev', '--workflows', MODULE);
  await dev.says(/Ctrl-C/);
  for (const id of ['o1', 'o2']) {
    expect((await here('run', 'order', '--id', id, '--workflows', MODULE, '--detach')).code).toBe(0);
  }
  const paused = await here('pause', 'o1', '--by', 'ada', '--why', 'an audit', '--json');
  expect([paused.code, JSON.parse(paused.out)]).toEqual([0, { api_version: 'v1', workflow: 'o1', changed: true }]);
  expect((await here('pause', 'o1', '--by', 'bob', '--why', 'me too')).out).toBe('o1 is paused already.\n');
  expect((await here('show', 'o1')).out).toMatch(/\(paused\)[\s\S]*Paused\n {2}by ada: an audit/);
  await dev.says(/paused by ada: an audit/);
  await dev.kill();

  expect((await here('resume', 'o1', '--by', 'ada', '--why', 'it is over')).out).toBe('o1 is resumed.\n');
  expect((await here('cancel', 'o1', '--by', 'ada', '--why', 'withdrawn')).out).toMatch(/the next tidemark dev or run/);
  const release = await hold({ cwd: folder });
  expect((await here('show', 'o1', '--events')).out).toMatch(/Is being cancelled\n {2}by ada \(cancelled\): withdrawn/);
  expect((await here('terminate', 'o2', '--by', 'ada', '--why', 'stuck')).out).toBe(
    'o2 has ended: nothing was compensated.\n',
  );
  expect((await here('show', 'o2')).out).toMatch(/terminated: ada ended it: stuck/);
  const late = await here('cancel', 'o2', '--by', 'ada', '--why', 'late');
  expect([late.code, late.err]).toEqual([expect.any(Number), expect.stringContaining('has ended')]);
  expect((await here('cancel', 'o1', '--by', 'ada')).code).toBe(64);
  await release();
});
