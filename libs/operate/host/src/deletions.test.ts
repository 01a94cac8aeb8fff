/**
 * What a policy deletes is told by the log itself: an audit finds the event wherever it is, also sealed, archived, and after rows were made
 * anew; a segment that somebody took away, with a tombstone of their own, is told. The control is the policy's own deletion beside it.
 */

import { rm } from 'node:fs/promises';
import path from 'node:path';
import { DEFAULT_TENANT, type Offset, workflowId } from '@tidemark/core';
import { recordedDeletions, verifyArchive } from '@tidemark/runtime';
import { defineWorkflow, task } from '@tidemark/sdk';
import { manifestName } from '@tidemark/segments';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { FolderFixture } from './folder-fixture.ts';
import type { Host } from './host.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const PATIENCE = { timeout: 60_000 };

const telling = defineWorkflow({
  name: 'telling',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  tasks: { say: z.object({}) },
  flow: { say: [] },
  begin: () => ({ belief: {}, next: [task('say', {})] }),
  steps: { say: () => ({ done: {} }) },
});

let at: FolderFixture;
beforeEach(async () => {
  at = await FolderFixture.make();
});
afterEach(() => at.end());

async function open(): Promise<Host> {
  const host = await at.open({ keysUrl: at.keysUrl() });
  await expect.poll(() => host.ports.store.ready(), PATIENCE).toBe(true);
  return host;
}

const KEEP = { warmMs: 1_000_000_000, keepMs: null };
const DELETE = { warmMs: 1, keepMs: 1 };

async function pass(host: Host, retention: { readonly warmMs: number; readonly keepMs: number | null }) {
  const policy = { hotMs: 1, segmentMinBytes: 1, retention };
  const compactor = host.compactor({ policy, paceBytesPerSecond: Number.POSITIVE_INFINITY });
  try {
    return await compactor.pass();
  } finally {
    // The next one has all partitions.
    await compactor.stop();
  }
}

const audit = (host: Host) =>
  verifyArchive(host.tiers!.hot, host.tiers!.archive, {
    deletions: (tenant) => recordedDeletions(host.ports, tenant),
  });

it('an audit takes for deleted what the log says was, and nothing else', async () => {
  const host = await open();
  // Two that are live at once are in two partitions, and so in two segments.
  const runs = [
    await host.client.start(telling, {}, { id: 'first' }),
    await host.client.start(telling, {}, { id: 'second' }),
  ];
  await host.startWorker({ definitions: [telling], concurrency: 4 });
  for (const run of runs) await run.result();
  const segmentOf = async (id: string) => (await host.ports.store.segments({ workflow: workflowId(id), limit: 1 }))[0];
  await vi.waitFor(async () => {
    await pass(host, KEEP);
    expect([await segmentOf('first'), await segmentOf('second')]).not.toContain(undefined);
  }, PATIENCE);
  const kept = (await segmentOf('second'))!;
  await host.client.memory.hold(DEFAULT_TENANT, { id: 'h', workflow: workflowId('second'), by: 'ana', why: 'a case' });
  await vi.waitFor(async () => {
    expect(await pass(host, DELETE)).toMatchObject({ deletedCount: 1, heldCount: 1 });
  }, PATIENCE);
  const deletions = [{ tenant: DEFAULT_TENANT, count: 1, chain: expect.stringMatching(/^[0-9a-f]{64}$/) }];
  const sound = { deletedCount: 1, deletions, problems: [] };
  expect(await audit(host)).toMatchObject(sound);
  // The event itself is archived with the stream of policies, and rows are rebuilt.
  await vi.waitFor(async () => expect((await pass(host, KEEP)).segmentCount).toBeGreaterThan(0), PATIENCE);
  expect(await audit(host)).toMatchObject(sound);
  await at.close(host);
  await rm(path.join(at.state, 'rows'), { recursive: true });
  const reopened = await open();
  expect(await audit(reopened)).toMatchObject(sound);

  const { warm } = reopened.tiers!.archive;
  const tombstone = manifestName(kept.partition, kept.from as Offset).replace(/^manifests/, 'deleted');
  await warm.create(tombstone, Buffer.from(JSON.stringify({ digest: kept.digest })));
  await pass(reopened, DELETE);
  expect(await audit(reopened), 'nobody takes it away for the tombstone').toMatchObject(sound);
  await warm.remove(kept.object);
  expect(await audit(reopened)).toMatchObject({ ...sound, problems: [{ code: 'deletion-unproved', from: kept.from }] });
});
