/** To which connection PGlite's answers belong when one is given up before it has them all (T1, T2). */

import { InvalidError } from '@tidemark/core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { assemblePglite } from '../pglite-store.ts';
import { BEGIN, once } from '../sql-client.ts';

/** Starting PGlite takes a second, on a busy machine many. */
vi.setConfig({ testTimeout: 120_000 });

const { store, client } = assemblePglite({ memory: true }, { answerTimeoutMs: 1500 });
beforeAll(() => client.run([once('select 1')]));
afterAll(() => store.close());

test('a loop that stood still for longer than an answer may take: each query gets its own answer or a time-out', async () => {
  const asked = ['a', 'b', 'c', 'd'].map((name) =>
    client.run([once(`select '${name}', pg_sleep(${name === 'a' ? 0.2 : 0})`)]).then(
      (results) => ({ name, answer: results[0]?.[0]?.[0] }),
      (error: Error) => ({ name, error: error.message }),
    ),
  );
  // The first is under way. Timers are then due before its answer, which arrives meanwhile, is read.
  await new Promise((resolve) => setImmediate(resolve));
  const untilMs = performance.now() + 2000;
  while (performance.now() < untilMs);
  expect(await Promise.all(asked)).toEqual([
    { name: 'a', error: 'Query read timeout' },
    ...['b', 'c', 'd'].map((name) => ({ name, answer: name })),
  ]);
});

test('a transaction whose connection was given up between two answers leaves nothing to the next', async () => {
  await client.script('create table kept (name text)');
  const failing = client.session(async (runner) => {
    await runner.run([BEGIN, once(`insert into kept values ('lost')`), once('set search_path to nowhere')]);
    // This is no answer of Postgres: the connection's state is unknown, and no rollback is sent.
    throw new TypeError('of the work');
  });
  await expect(failing).rejects.toThrow('of the work');
  expect(await client.run([once('select name from kept'), once('select txid_current_if_assigned()')])).toEqual([
    [],
    [[null]],
  ]);
});

test('a connection that did not answer its rollback is not used again', async () => {
  const failing = client.session(async (runner) => {
    await runner.run([BEGIN]);
    runner.run([once('select pg_sleep(60)')]).catch(() => {});
    throw new InvalidError('of-the-work', 'The work fails while a statement is under way.');
  });
  await expect(failing).rejects.toMatchObject({ code: 'of-the-work' });
  expect(await client.run([once('select 2')])).toEqual([[['2']]]);
});
