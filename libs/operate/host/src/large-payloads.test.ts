/**
 * Large payloads on the embedded default: a step may leave and say megabytes; log, segments and rows stay small, everything reads as it was
 * in every tier and after rows were lost (I6), and with a key nothing of it is in any file.
 */

import { readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { workflowId } from '@tidemark/core';
import { defineWorkflow, task } from '@tidemark/sdk';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { FolderFixture } from './folder-fixture.ts';
import type { Host } from './host.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const MB = 1_000_000;
const ID = workflowId('w');
const SECRET = 'the-secret-of-the-client';

/** Hardly packs, so that sealing it leaves it large. */
function noise(bytes: number, seed: number): string {
  let state = seed;
  let text = '';
  while (text.length < bytes) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    text += state.toString(36);
  }
  return `${SECRET} ${text.slice(0, bytes)}`;
}

const BELIEF = noise(5 * MB, 1);
const OUTPUT = noise(3 * MB, 2);

const hungry = defineWorkflow({
  name: 'hungry',
  version: 1,
  input: z.object({}),
  belief: z.object({ seen: z.string() }),
  output: z.object({ said: z.string(), seenBytes: z.number() }),
  tasks: { poll: z.object({}), say: z.object({}) },
  flow: { poll: ['say'], say: [] },
  begin: () => ({ belief: { seen: '' }, next: [task('poll', {})] }),
  steps: {
    poll: () => ({ belief: (belief) => ({ ...belief, seen: BELIEF }), next: [task('say', {})] }),
    say: ({ belief }) => ({ done: { said: OUTPUT, seenBytes: belief.seen.length } }),
  },
});

let at: FolderFixture;
beforeEach(async () => {
  at = await FolderFixture.make();
});
afterEach(() => at.end());

const open = (keysUrl = ''): Promise<Host> => at.open({ keysUrl });

async function run(host: Host): Promise<void> {
  await host.startWorker({ definitions: [hungry], concurrency: 4 });
  const started = await host.client.start(hungry, {}, { id: ID });
  const { said, seenBytes } = await started.result();
  expect([said === OUTPUT, seenBytes]).toEqual([true, BELIEF.length]);
}

/** A busy machine takes its time. */
const PATIENCE = { timeout: 60_000 };

/** Archives until its rows are gone. */
async function archive(host: Host): Promise<void> {
  const policy = { hotMs: 1, segmentMinBytes: 1 };
  const compactor = host.compactor({ policy, paceBytesPerSecond: Number.POSITIVE_INFINITY });
  const archived = async () => {
    expect(await compactor.pass()).toMatchObject({ failedCount: 0 });
    return host.ports.store.withoutRows([ID]);
  };
  await expect.poll(archived, PATIENCE).toEqual([ID]);
}

/** What is told of it, from wherever it is. */
async function reported(host: Host): Promise<unknown> {
  const checkpoints = await host.ports.store.checkpoints(ID, { from: 0 as never, limit: 10 });
  const row = await host.ports.store.workflow(ID);
  const beliefs = checkpoints.map(({ payload }) => payload.includes(BELIEF));
  const { output } = JSON.parse(row?.result ?? '{}') as { output?: { said: string; seenBytes: number } };
  // No megabytes in what a failure prints.
  return { beliefs, isOutput: output?.said === OUTPUT, seenBytes: output?.seenBytes };
}
const WHOLE = { beliefs: [false, true, false], isOutput: true, seenBytes: BELIEF.length };

async function sizeOf(...names: readonly string[]): Promise<number> {
  const top = path.join(at.state, ...names);
  let bytes = 0;
  for (const entry of await readdir(top, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(path.join(entry.parentPath, entry.name))).size;
  }
  return bytes;
}

async function blobCount(host: Host): Promise<number> {
  const digests: string[] = [];
  for await (const digest of host.tiers!.blobs!.stores.live.list()) digests.push(digest);
  return digests.length;
}

describe('a step that leaves 5 MB and says 3 MB', () => {
  it('is read as it was from rows, from segments, and after rows were lost; none of them is large', async () => {
    const host = await open();
    await run(host);
    expect(await reported(host)).toEqual(WHOLE);
    // A belief and an output. Of them rows hold the output alone, as the workflow's result.
    expect(await blobCount(host)).toBe(2);
    expect(await host.ports.log.sizeBytes()).toBeLessThan(MB);
    expect(await host.ports.store.blobReferences(null, 10)).toHaveLength(1);
    const [use] = await host.ports.store.storage('workflow', 1);
    expect(use?.hotBytes).toBeGreaterThan(8 * MB);
    expect(await sizeOf('blobs')).toBeGreaterThan(8 * MB);

    await archive(host);
    expect(await sizeOf('archive', 'segments')).toBeLessThan(MB);
    expect(await reported(host)).toEqual(WHOLE);
    expect(await host.ports.store.withoutRows([ID])).toEqual([]);
    await at.close(host);

    await rm(path.join(at.state, 'rows'), { recursive: true });
    const again = await open();
    await expect.poll(() => again.ports.store.ready(), PATIENCE).toBe(true);
    await expect.poll(() => reported(again), PATIENCE).toEqual(WHOLE);
    expect(await blobCount(again)).toBe(2);
    await at.close(again);
    expect((await at.filesWith(SECRET)).every((file) => file.startsWith('blobs/'))).toBe(true);
    expect(await at.filesWith(SECRET)).toHaveLength(2);
  });

  it('with a key is in no file as it is, and read as it was', async () => {
    const keysUrl = pathToFileURL(path.join(at.root, 'keys.json')).href;
    const host = await open(keysUrl);
    await run(host);
    expect(await reported(host)).toEqual(WHOLE);
    await archive(host);
    expect(await reported(host)).toEqual(WHOLE);
    await at.close(host);
    expect(await at.filesWith(SECRET)).toEqual([]);
    expect(await sizeOf('blobs')).toBeGreaterThan(4 * MB);

    await rm(path.join(at.state, 'rows'), { recursive: true });
    const again = await open(keysUrl);
    await expect.poll(() => again.ports.store.ready(), PATIENCE).toBe(true);
    await expect.poll(() => reported(again), PATIENCE).toEqual(WHOLE);
    await at.close(again);
    expect(await at.filesWith(SECRET)).toEqual([]);
  });

  it('is told as damaged where its blob is: its workflow stands there, and nothing is made of it', async () => {
    const host = await open();
    await run(host);
    const { live } = host.tiers!.blobs!.stores;
    const [name] = await host.ports.store.blobReferences(null, 1);
    const digest = name!.split(':')[1]!;
    await live.delete(digest);
    await expect(reported(host)).rejects.toMatchObject({ code: 'blob-missing', details: { digest } });
    await at.close(host);
    await rm(path.join(at.state, 'rows'), { recursive: true });
    const again = await open();
    await expect.poll(() => again.ports.store.ready(), PATIENCE).toBe(true);
    expect(await again.ports.store.workflow(ID)).toMatchObject({
      status: 'parked',
      reason: 'blob-missing',
      result: null,
    });
  });
});
