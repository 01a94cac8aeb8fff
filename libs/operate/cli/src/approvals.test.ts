/** What people are asked, as the command lists it, and how they answer. */

import path from 'node:path';
import { expect, it } from 'vitest';
import { callCli } from './called-cli-fixture.ts';
import { cliFolder } from './spawned-cli-fixture.ts';

const MODULE = path.resolve(import.meta.dirname, '../fixtures/asking.ts');

it('is listed with its form, and answered once', async (context) => {
  const { folder, begin, here } = await cliFolder(context);
  for (const id of ['r1', 'r2']) {
    expect((await here('run', 'refund', '--id', id, '--workflows', MODULE, '--detach')).code).toBe(0);
  }
  const dev = begin('dev', '--workflows', MODULE);
  await dev.says(/Ctrl-C/);
  const listed = await here('approvals', '--assignee', 'ana', '--json');
  expect(JSON.parse(listed.out)).toMatchObject({
    approvals: [
      { workflow: 'r1', task: '0.0', assignee: 'ana', title: 'How much?', detail: { paid: 9 } },
      { workflow: 'r2', form: { properties: { cents: { maximum: 500 } } } },
    ],
  });
  expect((await here('approvals', '--assignee', 'bob', 'eve')).out).toBe(
    'No task waits for an approval by bob or eve.\n',
  );
  expect((await here('approvals', '--mine', '--tenant', 'globex')).out).toBe(
    'No task of globex waits for an approval by you.\n',
  );
  expect((await here('approvals')).out).toMatch(/How much\? {2}refund r1, task 0\.0; asks ana/);
  const narrow = (await callCli(['approvals'], { cwd: folder, env: { COLUMNS: '60' } })).out;
  expect(narrow.split('\n').filter((line) => line.length > 60)).toEqual([]);
  expect(narrow).toContain('tidemark approve r1 --task 0.0 --value JSON --why TEXT');
  const tight = (await callCli(['approvals'], { cwd: folder, env: { COLUMNS: '45' } })).out;
  expect(tight).toMatch(/^How much\?\n {2}refund r1, task 0\.0; asks ana/);
  expect((await here('show', 'r1')).out).toMatch(/waits for the approval amount of ana/);

  const why = ['--by', 'ana', '--why', 'it was late'];
  const whole = await here('approve', 'r1', ...why);
  expect([whole.code, whole.err]).toEqual([
    65,
    expect.stringMatching(/its task 0\.0 waits for an approval.*--task 0\.0/),
  ]);
  expect((await here('admin', 'doctor')).out).toMatch(/ok +Decisions .*; 2 tasks wait for an approval/);
  const tooMuch = await here('approve', 'r1', '--task', '0.0', '--value', '{"cents":900}', ...why);
  expect([tooMuch.code, tooMuch.err]).toEqual([65, expect.stringContaining('value/cents: must be <= 500')]);
  const approved = await here('approve', 'r1', '--task', '0.0', '--value', '{"cents":300}', ...why, '--json');
  expect(JSON.parse(approved.out)).toMatchObject({ workflow: 'r1', task: '0.0', changed: true });
  const again = await here('approve', 'r1', '--task', '0.0', '--value', '{"cents":300}', ...why);
  expect(again.out).toMatch(/^r1: task 0\.0 was approved so before\. Nothing changed\./);
  expect((await here('reject', 'r2', '--task', '0.0', ...why)).out).toMatch(/^r2: task 0\.0 is rejected\./);
  await dev.says(/approved amount by ana: it was late/);
  expect((await here('approve', 'r2', '--value', '1', ...why)).err).toMatch(/Give --task and --value/);
  expect((await here('watch', 'r2')).code).toBe(0);
  const late = await here('reject', 'r1', '--task', '0.0', '--by', 'bob', '--why', 'no');
  expect(late.err).toMatch(/was already approved by ana/);
});
