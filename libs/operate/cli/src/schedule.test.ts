/** Schedules made, listed, fired and changed from the command line, through the process that holds the folder and without one. */

import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { expect, it } from 'vitest';
import { callCli } from './called-cli-fixture.ts';
import { cliFolder } from './spawned-cli-fixture.ts';

const MODULE = path.resolve(import.meta.dirname, '../fixtures/versions-old.ts');

it('is made, fired, listed and changed, and begins runs', async (context) => {
  const { folder, start, here } = await cliFolder(context);
  const set = ['schedule', 'set', 'nightly', 'order', '--workflows', MODULE];
  const bad = await here(...set, '--cron', 'every day');
  expect([bad.code, bad.err]).toEqual([
    65,
    expect.stringMatching(/^error: --cron: 'every day' is not a cron pattern/m),
  ]);
  const made = await here(...set, '--cron', '0 2 * * *', '--time-zone', 'Europe/Berlin');
  expect([made.code, made.out]).toEqual([0, 'nightly is made; tidemark schedule shows when it is due.\n']);
  expect(await readdir(folder)).toEqual(['.tidemark']);

  const dev = start('dev', '--workflows', MODULE);
  await dev.says(/Ctrl-C/);
  const fired = JSON.parse((await here('schedule', 'fire', 'nightly', '--json')).out);
  expect(fired).toMatchObject({ schedule: 'nightly', run: expect.stringMatching(/^nightly@\d{4}/) });
  await dev.says(new RegExp(fired.run));
  const [listed] = JSON.parse((await here('schedule', '--json')).out).schedules;
  expect(listed).toMatchObject({
    ...{ schedule: 'nightly', definition: 'order', status: 'open', cron: '0 2 * * *', time_zone: 'Europe/Berlin' },
    ...{ overlap: 'skip', catch_up: 1, started_count: 1, last_run: fired.run },
  });
  expect(listed.next).toHaveLength(5);
  expect((await here('schedule', 'set', 'nightly', 'order', '--cron', '*/5 * * * *')).out).toMatch(/is changed/);
  expect((await here('schedule')).out).toMatch(/SCHEDULE +STATUS +NEXT +WORKFLOW[\s\S]*nightly +open .* order/);
  // At 60 columns lists fit, and what one would copy is whole.
  for (const list of ['schedule', 'ls', 'du']) {
    const { out } = await callCli([list], { cwd: folder, env: { COLUMNS: '60' } });
    expect([list, out.split('\n').filter((line) => line.length > 60)]).toEqual([list, []]);
    expect(out).toContain({ schedule: 'nightly', ls: listed.last_run, du: 'default' }[list]);
  }
  const unknown = await here('schedule', 'fire', 'nobody');
  expect([unknown.code, unknown.err]).toEqual([65, "error: No schedule has the id 'nobody'.\n"]);
  const long = await here('schedule', 'fire', 'x'.repeat(3_000));
  expect([long.code, long.err.length < 1_000, long.err]).toEqual([
    64,
    true,
    expect.stringMatching(/^error: <id> .*1 to 200 characters/),
  ]);
  expect((await here('cancel', 'nightly', '--by', 'ada', '--why', 'no longer wanted')).code).toBe(0);
  await dev.kill();
});
