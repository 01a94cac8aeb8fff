/**
 * Rows rebuilt on the embedded default: every damage to rows is named, folding log and archive mends it, and what can't be folded
 * from either is kept (I5).
 */

import { cp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { type Sequence, type WorkflowId, workflowId } from '@tidemark/core';
import type { CheckpointRow } from '@tidemark/ports';
import { defineWorkflow, task } from '@tidemark/sdk';
import { batch } from '@tidemark/testkit/contracts/projection-store-rows';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { openEmbeddedRebuild } from './embedded.ts';
import { FolderFixture } from './folder-fixture.ts';
import type { Host } from './host.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
const ARCHIVED = workflowId('archived');
const DONE = workflowId('done');
const WAITING = workflowId('waiting');

const named = <N extends string>(name: N) =>
  defineWorkflow({
    name,
    version: 1,
    input: z.object({}),
    belief: z.object({}),
    output: z.object({ ok: z.boolean() }),
    tasks: { first: z.object({}), last: z.object({}) },
    flow: { first: ['last'], last: [] },
    begin: () => ({ belief: {}, next: [task('first', {})] }),
    steps: { first: () => ({ next: [task('last', {})] }), last: () => ({ done: { ok: true } }) },
  });
const greeting = named('greeting');
/** No worker knows it at first. */
const later = named('later');

/** A busy machine takes its time. */
const PATIENCE = { timeout: 60_000 };

let at: FolderFixture;
let keysUrl: string;
beforeEach(async () => {
  at = await FolderFixture.make();
  keysUrl = '';
});
afterEach(() => at.end());

const place = () => ({ folder: at.state, keysUrl });
const open = (): Promise<Host> => at.open({ keysUrl });

/** One that ended and is archived, one that ended, and one that waits. */
async function fill(): Promise<Host> {
  const host = await open();
  await host.startWorker({ definitions: [greeting], concurrency: 4 });
  await (await host.client.start(greeting, {}, { id: ARCHIVED })).result();
  const compactor = host.compactor({
    policy: { hotMs: 1, segmentMinBytes: 1 },
    paceBytesPerSecond: Number.POSITIVE_INFINITY,
  });
  await vi.waitFor(async () => {
    await compactor.pass();
    expect(await host.ports.store.segments({ limit: 1 })).toHaveLength(1);
  }, PATIENCE);
  await (await host.client.start(greeting, {}, { id: DONE })).result();
  await host.client.start(later, {}, { id: WAITING });
  await vi.waitFor(async () => expect(await checkpointsOf(host, WAITING)).toHaveLength(1), PATIENCE);
  return host;
}

const checkpointsOf = (host: Host, workflow: WorkflowId): Promise<readonly CheckpointRow[]> =>
  host.ports.store.checkpoints(workflow, { from: 0 as Sequence, limit: 10 });

async function damage(host: Host): Promise<void> {
  const { store } = host.ports;
  const [, second] = await checkpointsOf(host, DONE);
  const [row] = (await host.ports.store.workflows({ limit: 10 })).filter(({ workflow }) => workflow === WAITING);
  const [pending] = await store.tasks(WAITING, 1);
  const at = await store.positions();
  await store.apply(
    batch({
      partitions: [...at].map(([partition, next]) => ({
        partition,
        from: next,
        to: next,
        generation: row!.generation,
      })),
      checkpoints: [
        {
          ...second!,
          sequence: 900 as Sequence,
          payload: { partition: row!.partition, offset: second!.offset, bytes: 0 },
        },
      ],
      tasksGone: [{ workflow: WAITING, task: pending!.task }],
    }),
  );
}

const compare = async () => {
  const rebuild = await openEmbeddedRebuild(place(), 'compare', {});
  try {
    return await rebuild.rows.compare(100);
  } finally {
    await rebuild.close();
  }
};

it('damage to rows is named, and mended; work goes on', async () => {
  const damaged = await fill();
  await damage(damaged);
  await at.close(damaged);
  const { differences } = await compare();
  expect(differences).toEqual(
    expect.arrayContaining([
      { table: 'checkpoints', key: { workflow: DONE, sequence: '900' }, what: 'extra', columns: [] },
      expect.objectContaining({ table: 'tasks', what: 'missing' }),
      expect.objectContaining({
        table: 'partitions',
        what: 'different',
        columns: expect.arrayContaining(['generation']),
      }),
    ]),
  );

  const progress: number[] = [];
  const rebuild = await openEmbeddedRebuild(place(), 'switch', {
    onProgress: ({ doneCount, totalCount }) => progress.push(doneCount / totalCount),
  });
  await rebuild.rows.switchOver();
  await rebuild.close();
  expect(progress.at(-1)).toBe(1);
  const sound = await compare();
  expect(sound).toMatchObject({ differences: [], differenceCount: 0 });
  expect(sound.rowCount).toBeGreaterThan(10);

  const after = await open();
  expect(await checkpointsOf(after, DONE)).toHaveLength(3);
  // Its rows were never written anew, and come back when they are read.
  expect(await after.ports.store.withoutRows([ARCHIVED, DONE])).toEqual([ARCHIVED]);
  expect(await checkpointsOf(after, ARCHIVED)).toHaveLength(3);
  await after.startWorker({ definitions: [later], concurrency: 4 });
  await expect.poll(async () => (await after.ports.store.workflow(WAITING))?.status).toBe('completed');
});

it('rows that are sealed are opened on both sides, and say what the log makes them say', async () => {
  keysUrl = at.keysUrl();
  const host = await fill();
  await at.close(host);
  expect(await compare()).toMatchObject({ differences: [], unopenedCount: 0 });

  const damaged = await open();
  const { store } = damaged.ports;
  const [row] = (await store.workflows({ limit: 10 })).filter(({ workflow }) => workflow === DONE);
  const offset = (await store.positions([row!.partition])).get(row!.partition)!;
  await store.apply(
    batch({
      partitions: [{ partition: row!.partition, from: offset, to: offset, generation: row!.generation }],
      streams: [{ ...row!, state: '' }],
      closed: [{ workflow: DONE, partition: row!.partition, result: '{"output":{"ok":false}}' }],
    }),
  );
  await at.close(damaged);
  const { differences } = await compare();
  expect(differences).toContainEqual({
    table: 'workflows',
    key: { workflow: DONE },
    what: 'different',
    columns: ['result'],
  });
});

it('one that ended while it folded is told, and gone on from; from nothing, all of it is folded again', async () => {
  await at.close(await fill());
  const interrupted = await openEmbeddedRebuild(place(), 'switch', {
    onProgress: () => {
      throw new Error('this process ends here');
    },
  });
  await expect(interrupted.rows.switchOver()).rejects.toThrow();
  await interrupted.close();

  const comparing = await openEmbeddedRebuild(place(), 'compare', {});
  expect(await comparing.rows.unfinished()).toEqual({ begunAtMs: expect.any(Number), isUnderWay: false });
  await comparing.close();

  let last = { doneCount: 0, totalCount: 0, foldedCount: 0 };
  const open = () =>
    openEmbeddedRebuild(place(), 'switch', {
      onProgress: (progress) => {
        last = progress;
      },
    });
  const again = await open();
  await again.rows.switchOver();
  await again.close();
  expect(last.doneCount).toBe(last.totalCount);
  expect(last.foldedCount).toBeLessThan(last.totalCount);
  const whole = await open();
  await whole.rows.switchOver({ isFromNothing: true });
  expect(await whole.rows.unfinished()).toBeUndefined();
  await whole.close();
  expect(last.foldedCount).toBe(last.totalCount);
  expect(await compare()).toMatchObject({ differences: [] });
});

it.each(['switch', 'compare'] as const)(
  'rows that know more than the log are left as they are (%s)',
  async (purpose) => {
    const before = await open();
    await before.client.start(later, {}, { id: workflowId('older') });
    await at.close(before);
    const [log, older] = [path.join(at.root, 'state', 'log'), path.join(at.root, 'older')];
    await cp(log, older, { recursive: true });
    await at.close(await fill());
    await rm(log, { recursive: true });
    await rename(older, log);
    const refused = openEmbeddedRebuild(place(), purpose, {});
    await expect(refused).rejects.toMatchObject({ name: 'CorruptError', code: 'log-replaced' });
  },
);
