/**
 * A chain of histories under a key, with payloads that are stored beside the log: what is carried from one history to the next is in no file
 * as it is, the next one reads it after rows were lost and after the one before it is archived, and forgetting one leaves the others.
 */

import { rm } from 'node:fs/promises';
import path from 'node:path';
import { continuationId, DEFAULT_TENANT, type WorkflowId, workflowId } from '@tidemark/core';
import { forget } from '@tidemark/runtime';
import { defineWorkflow, signal, task } from '@tidemark/sdk';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { FolderFixture } from './folder-fixture.ts';
import type { Host } from './host.ts';

/** Starting PGlite takes seconds, on a busy machine many. */
vi.setConfig({ testTimeout: 180_000 });

const PATIENCE = { timeout: 60_000 };
const SECRET = 'the-secret-of-the-client';
/** More than an event holds. */
const CARRIED = `${SECRET} ${'0123456789'.repeat(200_000)}`;
const LAST = 3;
const GIVEN = { turn: 1, carried: CARRIED };

const turns = defineWorkflow({
  name: 'turns',
  version: 1,
  input: z.object({ turn: z.int(), carried: z.string() }),
  belief: z.object({ carried: z.string() }),
  output: z.object({ turn: z.int(), carried: z.string() }),
  tasks: { turn: z.object({}), end: z.object({}) },
  flow: { turn: ['end'], end: [] },
  signals: { end: z.null() },
  begin: ({ carried }) => ({ belief: { carried }, next: [task('turn', {})] }),
  steps: {
    turn: ({ input, belief }) =>
      input.turn < LAST
        ? { continueAsNew: { turn: input.turn + 1, carried: belief.carried } }
        : { next: [task('end', {}, { when: signal('end') })] },
    end: ({ input, belief }) => ({ done: { turn: input.turn, carried: belief.carried } }),
  },
});

const FIRST = workflowId('chain');
const SECOND = continuationId(FIRST);
const THIRD = continuationId(SECOND);

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

const statusOf = async (host: Host, id: WorkflowId): Promise<string | undefined> =>
  (await host.ports.store.workflow(id))?.status;

/** Whether what it began with says what was carried. */
async function says(host: Host, id: WorkflowId): Promise<boolean> {
  const [opening] = await host.ports.store.checkpoints(id, { from: 0 as never, limit: 1 });
  return opening?.payload.includes(SECRET) === true;
}

async function archive(host: Host, id: WorkflowId): Promise<void> {
  const policy = { hotMs: 1, segmentMinBytes: 1 };
  const compactor = host.compactor({ policy, paceBytesPerSecond: Number.POSITIVE_INFINITY });
  const gone = async () => {
    expect(await compactor.pass()).toMatchObject({ failedCount: 0 });
    return host.ports.store.withoutRows([id]);
  };
  await expect.poll(gone, PATIENCE).toEqual([id]);
}

it('a chain goes on under keys: over archived histories, lost rows, and one that was forgotten', async () => {
  const host = await open();
  await host.startWorker({ definitions: [turns], concurrency: 4 });
  await host.client.start(turns, GIVEN, { id: FIRST });
  await expect.poll(() => statusOf(host, THIRD), PATIENCE).toBe('open');
  await archive(host, FIRST);
  expect([await says(host, FIRST), await says(host, SECOND), await says(host, THIRD)]).toEqual([true, true, true]);
  await at.close(host);
  expect(await at.filesWith(SECRET)).toEqual([]);

  await rm(path.join(at.state, 'rows'), { recursive: true });
  const again = await open();
  await expect.poll(() => statusOf(again, THIRD), PATIENCE).toBe('open');
  await again.startWorker({ definitions: [turns], concurrency: 4 });
  await again.client.signal(FIRST, 'end', null);
  await expect.poll(() => statusOf(again, THIRD), PATIENCE).toBe('completed');
  // Started again, the same id answers the same run: what the last of the chain says.
  const { turn, carried } = await (await again.client.start(turns, GIVEN, { id: FIRST })).result();
  expect([turn, carried === CARRIED]).toEqual([LAST, true]);

  await forget(
    {
      store: again.ports.store,
      keys: again.keys!.data,
      keyStore: again.keys!.store,
      memory: again.client.memory,
      now: () => 'now',
    },
    { tenant: DEFAULT_TENANT, workflow: SECOND, by: 'ana', why: 'was asked to' },
  );
  expect([await says(again, FIRST), await says(again, SECOND), await says(again, THIRD)]).toEqual([true, false, true]);
});
