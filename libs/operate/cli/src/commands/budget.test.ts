/** `tidemark budget` with a workflow that is paused for want of one. */

import path from 'node:path';
import { expect, it } from 'vitest';
import { hold } from '../called-cli-fixture.ts';
import { cliFolder } from '../spawned-cli-fixture.ts';

const FRUGAL = path.resolve(import.meta.dirname, '../../fixtures/frugal.ts');

it('raises the budget of a workflow that is paused, which then goes on', async (context) => {
  const { folder, here } = await cliFolder(context);
  const run = () => here('run', 'frugal', '--id', 'f1', '--user', 'ana', '--workflows', FRUGAL);
  const paused = await run();
  expect([paused.code, paused.err]).toEqual([1, expect.stringContaining('budget_exceeded')]);
  const release = await hold({ cwd: folder });
  expect((await here('budget', 'show', 'f1')).out).toBe(
    'f1: 0 tokens, $0.00 spent or reserved.\ntenant default: no budget.\nuser ana: no budget.\n',
  );
  expect((await here('show', 'f1')).out).toContain('tidemark budget raise f1 --tokens COUNT --why TEXT');
  const nothing = await here('budget', 'raise', 'f1', '--by', 'ann', '--why', 'x');
  expect([nothing.code, nothing.err]).toEqual([65, expect.stringContaining('Give --tokens, --usd or both')]);
  await release();
  const raised = await here('budget', 'raise', 'f1', '--tokens', '5000', '--by', 'ann', '--why', 'it is worth it');
  expect(raised.out).toMatch(/^f1 may spend 5,000 tokens more\. It resumes with the next tidemark dev or run/);
  const done = await run();
  expect([done.code, JSON.parse(done.out)]).toEqual([0, { answer: 'By train.' }]);
  const shown = JSON.parse((await here('budget', 'show', 'f1', '--user', 'ana', '--json')).out);
  expect(shown.workflow).toMatchObject({ workflow: 'f1', raised: { tokens: 5_000, cost_micros: 0 } });
  expect(shown.workflow.spent.tokens).toBeGreaterThan(0);
});
