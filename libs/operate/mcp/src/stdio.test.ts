/** The server over standard input and output: the real command as a process, and the protocol's own client. */

import { checkDigest } from '@tidemark/repo-state';
import { expect, it } from 'vitest';
import { place } from '../fixtures/mcp-place.ts';

it('serves two processes on one folder; killed and started again, nothing is lost', async (context) => {
  const { folder, stdio } = await place(context);
  const built = checkDigest('test -f built', folder);
  const [ann, bob] = await Promise.all([stdio('ann', '--allow-check', built), stdio('bob', '--user', 'ana')]);
  // Both hold the folder for a moment each: neither gives up, and nothing is lost.
  const facts = ['Ana works from Lisbon', 'Ana reads before noon', 'Ana never takes calls', 'Ana pays by invoice'];
  const remembered = Promise.all(
    facts.map((text, at) =>
      at % 2 === 0 ? ann.call('remember', { text, user: 'ana' }) : bob.call('remember', { text }),
    ),
  );
  const began = await ann.call('state_init', {
    name: 'upgrade',
    stages: ['bump', 'build', { id: 'test', check: 'test -f built' }],
  });
  expect(began).toMatchObject({ isError: false, text: 'upgrade: 0 of 3 stages done; next is bump.' });
  await ann.call('state_checkpoint', { name: 'upgrade', stages: ['bump'], status: 'done', note: 'keep the API' });
  await ann.call('state_checkpoint', { name: 'upgrade', stages: ['build'], status: 'in_progress' });
  expect((await remembered).map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
  await bob.call('user_state_set', { key: 'tone', value: { style: 'brief' } });
  process.kill(ann.pid, 'SIGKILL');
  process.kill(bob.pid, 'SIGKILL');

  const next = await stdio('cal', '--user', 'ana', '--allow-check', built);
  const resumed = await next.call('state_resume', { name: 'upgrade' });
  expect(resumed.text).toBe(
    'upgrade: Resuming from stage 2: build. Stage 1 already done. It is in progress with ann.\nNote of ann: keep the API',
  );
  expect(resumed.data).toMatchObject({ fresh: false, stage: { id: 'build', number: 2, of: 3 } });
  // Somebody else has it in hand, and may still be there.
  const begins = { name: 'upgrade', stages: ['build'], status: 'in_progress' };
  const taken = await next.call('state_checkpoint', begins);
  expect(taken.error).toMatchObject({ code: 'stage-taken' });
  await next.call('state_checkpoint', { ...begins, take: true });
  const waits = await next.call('state_checkpoint', { name: 'upgrade', stages: ['build'], status: 'done', every: 3 });
  expect(waits.data).toMatchObject({ saved: false, state: { current_stage: 'test' } });
  const failed = await next.call('state_checkpoint', { name: 'upgrade', stages: ['test'], status: 'done' });
  expect([failed.isError, failed.data.passed]).toEqual([false, false]);
  expect(failed.text).toMatch(/^The check of test failed \(1\): test -f built\n.*2 of 3 stages done; next is test/s);
  const open = await next.call('state_complete', { name: 'upgrade' });
  expect(open.error).toMatchObject({ code: 'stages-open' });
  const moved = await next.call('state_migrate', { name: 'upgrade', to: 2, rename: { test: 'verify' } });
  expect(moved.data).toMatchObject({ from: 1, state: { version: 2, current_stage: 'verify' } });
  const shown = await next.call('state_show');
  expect(shown.data.names).toEqual(['upgrade']);
  await next.call('state_complete', { name: 'upgrade', open: true });
  expect((await next.call('state_show', { name: 'upgrade' })).data.state).toBeNull();

  const { data } = await next.call('facts');
  expect((data.facts as readonly { text: string }[]).map(({ text }) => text).toSorted()).toEqual(facts.toSorted());
  expect((await next.call('user_state_get', { key: 'tone' })).data.entry).toMatchObject({ value: { style: 'brief' } });
});
