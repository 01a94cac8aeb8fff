/** `tidemark dev` archives what is no longer hot while it runs, says nothing of it, and what is archived reads as before. */

import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { workflowId } from '@tidemark/core';
import { openEmbedded } from '@tidemark/host';
import { defineWorkflow, task } from '@tidemark/sdk';
import { expect, it, vi } from 'vitest';
import { z } from 'zod';
import { CalledCli, callCli } from './called-cli-fixture.ts';
import { AGENTS } from './spawned-cli-fixture.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
vi.setConfig({ testTimeout: 180_000 });
const PATIENCE = { timeout: 120_000 };

/** Three checkpoints of 600 KB: more than a segment waits for. */
const large = defineWorkflow({
  name: 'large',
  version: 1,
  input: z.object({}),
  belief: z.object({ seen: z.string() }),
  output: z.object({}),
  tasks: { look: z.object({ left: z.number() }) },
  flow: { look: ['look'] },
  begin: () => ({ belief: { seen: '' }, next: [task('look', { left: 2 })] }),
  steps: {
    look: (_, { left }) => ({
      belief: () => ({ seen: randomBytes(300_000).toString('hex') }),
      ...(left === 0 ? { done: {} } : { next: [task('look', { left: left - 1 })] }),
    }),
  },
});

const ID = workflowId('w');
const HOT_MS = 1_000;

it('a folder that dev runs on does not grow for ever', async ({ onTestFinished }) => {
  const cwd = await mkdtemp(path.join(tmpdir(), 'tidemark-dev-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  const folder = path.join(cwd, '.tidemark');
  /** Its beliefs, and what its log holds. */
  const inFolder = async (isNew: boolean) => {
    const host = await openEmbedded({ folder });
    try {
      if (isNew) {
        await host.startWorker({ definitions: [large], concurrency: 1 });
        await (await host.client.start(large, {}, { id: ID })).result();
      }
      const rows = await host.ports.store.checkpoints(ID, { from: 0 as never, limit: 10 });
      return { checkpoints: rows.map(({ payload }) => payload), bytes: await host.tiers!.hot.sizeBytes() };
    } finally {
      await host.close();
    }
  };
  const before = await inFolder(true);
  expect(before.bytes).toBeGreaterThan(1_800_000);

  // What closed a moment ago waits for the next pass, a minute later.
  const closedMs = Date.now();
  await expect.poll(() => Date.now() - closedMs, PATIENCE).toBeGreaterThan(HOT_MS);

  const dev = new CalledCli(['dev', '--workflows', AGENTS, '--port', '0'], {
    cwd,
    env: { TIDEMARK_HOT: `${HOT_MS / 1_000}s` },
  });
  await dev.says(/stop +Ctrl-C/);
  const archivedCount = async (): Promise<number> =>
    JSON.parse((await callCli(['du', '--json'], { cwd })).out).storage[0].archived_event_count;
  await expect.poll(archivedCount, PATIENCE).toBeGreaterThan(0);
  const { code } = await dev.interrupt();
  expect(code).toBe(0);
  expect(dev.reported).not.toMatch(/compact|segment|archiv/i);

  const after = await inFolder(false);
  expect(after.checkpoints.length).toBe(before.checkpoints.length);
  expect(after.checkpoints.every((payload, at) => payload === before.checkpoints[at])).toBe(true);
  expect(after.bytes).toBeLessThan(500_000);
});
