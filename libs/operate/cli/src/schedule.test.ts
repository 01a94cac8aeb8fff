/** Schedules made, listed, fired and changed from the command line, through the process that holds the folder and without one. */

import path from 'node:path';
import { expect, it } from 'vitest';
import { cliFolder } from './spawned-cli-fixture.ts';

const MODULE = path.resolve(import.meta.dirname, '../fixtures/versions-old.ts');

it('is made, fired, listed and changed, and begins runs', async (context) => {
  const { start, here } = await cliFolder(context);
  const set = ['schedule', 'set', 'nightly', 'order', '--workflows', MODULE];
  const bad = await here(...set, '--cron', 'every day');
  expect([bad.code, bad.err]).toEqual([65, expect.stringMatching(/cron: 'every day' is not a cron pattern/)]);
  const made = await here(...set, '--cron', '0 2 * * *', '--time-zone', 'Europe/Berlin');
  expect([made.code, made.out]).toEqual([0, 'nightly is made; tidemark schedule shows when it is due.\n']);

  const dev = start('dev', '--workflows', MODULE);
  await dev.says(/Ctrl-C/);
  expect((await here('schedule', 'fire', 'nightly')).out).toMatch(/^nightly begins a run/);
  await dev.says(/nightly@\d{4}/);
  const [listed] = JSON.parse((await here('schedule', '--json')).out).schedules;
  expect(listed).toMatchObject({
    ...{ schedule: 'nightly', definition: 'order', status: 'open', cron: '0 2 * * *', time_zone: 'Europe/Berlin' },
    ...{ overlap: 'skip', catch_up: 1, started_count: 1, last_run: expect.stringMatching(/^nightly@/) },
  });
  expect(listed.next).toHaveLength(5);
  expect((await here('schedule', 'set', 'nightly', 'order', '--cron', '*/5 * * * *')).out).toMatch(/is changed/);
  expect((await here('schedule')).out).toMatch(/SCHEDULE +STATUS +WORKFLOW[\s\S]*nightly +open +order/);
  expect((await here('schedule', 'fire', 'nobody')).code).toBe(65);
  expect((await here('cancel', 'nightly', '--by', 'ada', '--why', 'no longer wanted')).code).toBe(0);
  await dev.kill();
});
