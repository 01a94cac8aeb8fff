import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { CorruptError } from '@tidemark/core';
import { defineWorkflow, task } from '@tidemark/sdk';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { z } from 'zod';
import { openEmbedded } from './embedded.ts';

const one = defineWorkflow({
  name: 'one',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({ ok: z.boolean() }),
  tasks: { only: z.object({}) },
  flow: { only: [] },
  begin: () => ({ belief: {}, next: [task('only', {})] }),
  steps: { only: () => ({ done: { ok: true } }) },
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-host-'));
});
afterEach(() => rm(folder, { recursive: true }));

async function runOne(): Promise<unknown> {
  const host = await openEmbedded({ folder });
  try {
    await host.startWorker({ definitions: [one], concurrency: 1 });
    return await (await host.client.start(one, {}, { id: 'one' })).result();
  } finally {
    await host.close();
  }
}

it('coordinates by itself: what an agent reports is written, and what it begins ends, without another call', async () => {
  const host = await openEmbedded({ folder });
  try {
    const { shadows } = host.client;
    await shadows.promote('outside', { to: 100, by: 'ops' });
    const run = shadows.shadow({ name: 'outside', version: 1 }, { id: 'run-1' });
    run.step({ key: 'one', step: 'look' });
    run.done(null);
    expect(await run.flushed(30_000)).toBe(true);
    expect(run.counts).toMatchObject({ written: 2, lost: 0 });
  } finally {
    await host.close();
  }
});

it('rebuilds deleted rows from the log (I6)', async () => {
  expect(await runOne()).toEqual({ ok: true });
  await rm(path.join(folder, 'rows'), { recursive: true });
  expect(await runOne()).toEqual({ ok: true });
});

it('says so when the log was deleted under its rows, and goes on from the log once they are deleted too', async () => {
  await runOne();
  await rm(path.join(folder, 'log'), { recursive: true });
  await expect(openEmbedded({ folder })).rejects.toThrow(CorruptError);
  await expect(openEmbedded({ folder })).rejects.toMatchObject({ code: 'log-replaced' });
  await rm(path.join(folder, 'rows'), { recursive: true });
  expect(await runOne()).toEqual({ ok: true });
});
