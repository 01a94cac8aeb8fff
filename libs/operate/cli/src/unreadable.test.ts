/**
 * Somebody who may write to the log, and has no keys, tells an encrypted run what to do: it is not done, the run stands there, and what the
 * command tells of it leads a person over it.
 */

import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Offset, Partition } from '@tidemark/core';
import { openEmbedded } from '@tidemark/host';
import { expect, it } from 'vitest';
import { hold } from './called-cli-fixture.ts';
import { AGENTS, cliFolder } from './spawned-cli-fixture.ts';

const PARTITIONS = Array.from({ length: 16 }, (_, partition) => partition as Partition);

/** Appends a signal as it would be without encryption. */
async function forge(folder: string, workflow: string, by: string): Promise<void> {
  const host = await openEmbedded({ folder: path.join(folder, '.tidemark'), encryption: 'off' });
  try {
    const { hot } = host.tiers!;
    const reads = await hot.read(PARTITIONS.map((partition) => ({ partition, from: 0 as Offset })));
    const [found] = reads.flatMap(({ partition, records }) =>
      records.flatMap(({ value }) => {
        const header = JSON.parse(Buffer.from(value).toString('latin1').split('\n')[0]!) as Record<string, unknown>;
        return header.workflow === workflow && header.type === 'WorkflowOpened' ? [{ partition, header }] : [];
      }),
    );
    const { partition, header } = found!;
    const { tenant, generation, lamport, atMs } = header;
    const inbox = { epoch: 0, holder: '', ordinal: 0, atMs, type: 'SignalReceived', control: { name: 'approved' } };
    const signal = { v: 1, id: `signal:${by}`, tenant, workflow, generation, lamport, ...inbox, payload: 'json' };
    const value = Buffer.from(`${JSON.stringify(signal)}\n${JSON.stringify({ value: { by } })}`);
    await hot.append(partition, [{ value, type: 'SignalReceived' }]);
  } finally {
    await host.close();
  }
}

it('is stopped by a forged signal, names it, and goes on when a person has skipped it', async (context) => {
  const env: Record<string, string> = {};
  const { folder, here } = await cliFolder(context, env);
  env.TIDEMARK_KEYS_URL = pathToFileURL(path.join(folder, 'keys.json')).href;
  const holding = { cwd: folder, env, modules: [AGENTS] };
  await here('admin', 'keys', 'begin');
  let release = await hold(holding);
  expect((await here('run', 'permit', '--id', 'p1', '--workflows', AGENTS, '--detach')).code).toBe(0);
  await release();
  await forge(folder, 'p1', 'mallory');

  release = await hold(holding);
  await expect.poll(async () => (await here('show', 'p1')).out, { timeout: 60_000 }).toMatch(/sealed-wrong/);
  const shown = await here('show', 'p1');
  expect(shown.out).toMatch(/can't be read[\s\S]*tidemark skip p1 --why TEXT/);
  expect((await here('recover', 'p1', '--dry-run')).out).toMatch(/waits for a person: the SignalReceived at offset/);
  const rejected = await here('rejected', '--json');
  expect(rejected.out).toMatch(/"reason": ?"sealed-wrong"/);
  expect(JSON.parse((await here('ls', '--status', 'parked', '--json')).out).workflows).toMatchObject([
    { workflow: 'p1', reason: 'sealed-wrong' },
  ]);
  // Taken once more it is what it was.
  const taken = await here('take', 'p1', '--by', 'ada', '--why', 'perhaps');
  expect([taken.code === 0, taken.err]).toEqual([false, expect.stringContaining("still can't be read")]);
  const skipped = await here('skip', 'p1', '--by', 'ada', '--why', 'nobody of ours', '--json');
  expect([skipped.code, JSON.parse(skipped.out)]).toMatchObject([
    0,
    { judged: [{ workflow: 'p1', problem: 'sealed-wrong', judgement: 'skip' }] },
  ]);
  const again = await here('skip', 'p1', '--by', 'ada', '--why', 'once more');
  expect([again.code === 0, again.err]).toEqual([
    false,
    expect.stringContaining('not stopped at an unreadable record'),
  ]);
  expect((await here('show', 'p1', '--events')).out).toMatch(
    /unreadable record at offset \d+ skipped by ada: nobody of ours/,
  );
  await here('signal', 'p1', 'approved', '--value', '{"by":"ada"}');
  await expect
    .poll(async () => JSON.parse((await here('show', 'p1', '--json')).out) as unknown, { timeout: 60_000 })
    .toMatchObject({ status: 'completed', output: { by: 'ada' } });
  await release();
}, 180_000);
