/** Lists over HTTP whose rows are more than a page: each goes on by its cursor, until all was told once. */

import { createApi } from '@tidemark/api';
import { connect } from '@tidemark/client';
import type { Offset, Partition, TenantId, WorkflowId } from '@tidemark/core';
import type { RejectedRow, SegmentRow } from '@tidemark/ports';
import { defineWorkflow, signal, task } from '@tidemark/sdk';
import { SimulatedStore } from '@tidemark/testkit/engine/simulated-store';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { patient, type Served, sayingAuthenticator, serveApi } from './served.ts';

const TASKS_COUNT = 5;

/** Has many tasks, each of which waits for a signal. */
const wide = defineWorkflow({
  name: 'wide',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  signals: { go: z.number() },
  tasks: { hear: z.object({}) },
  flow: { hear: [] },
  begin: () => ({
    belief: {},
    next: Array.from({ length: TASKS_COUNT }, () => task('hear', {}, { when: signal('go') })),
  }),
  steps: { hear: () => ({}) },
});

/** Nothing was rejected here: rows of another store are told instead. */
const others = new SimulatedStore();
const rejectedAt = (partition: number, offset: number, atMs: number): RejectedRow => ({
  ...{ partition: partition as Partition, offset: offset as Offset, atMs },
  ...{ workflow: null, type: null, reason: 'malformed', evidence: '{}' },
});

let served: Served;
let app: Awaited<ReturnType<typeof createApi>>;
let url: string;
beforeAll(async () => {
  const definitions = [wide, patient];
  served = await serveApi({ authenticator: sayingAuthenticator, definitions });
  const { ports, client } = served.host;
  const store = new Proxy(ports.store, {
    get(target, name) {
      const of = name === 'rejected' ? others : target;
      const member: unknown = Reflect.get(of, name);
      return typeof member === 'function' ? member.bind(of) : member;
    },
  });
  const place = { ports: { ...ports, store }, client };
  app = await createApi({ place, definitions, authenticator: sayingAuthenticator, checksAnswers: true });
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});
afterAll(async () => {
  await app.close();
  await served.close();
});

const client = () => connect({ url, token: 'admin' });

interface Page<T> {
  readonly rows: readonly T[];
  readonly next: string | null;
}

/** Page by page, two rows at a time; a cursor that no page told is refused. */
async function walked<T>(
  ask: (query: { readonly limit: number; readonly cursor?: string }) => Promise<Page<T>>,
): Promise<readonly (readonly T[])[]> {
  await expect(ask({ limit: 2, cursor: 'bm8' })).rejects.toMatchObject({ status: 400, code: 'cursor-invalid' });
  const pages: (readonly T[])[] = [];
  for (let cursor: string | null = null; ; ) {
    const page: Page<T> = await ask({ limit: 2, ...(cursor !== null && { cursor }) });
    pages.push(page.rows);
    cursor = page.next;
    if (cursor === null) return pages;
  }
}

it('tasks, in the order of their creation', async () => {
  const run = await client().start('wide', {}, { id: 'wide' });
  await expect.poll(async () => (await run.tasks()).tasks.length).toBe(TASKS_COUNT);
  const pages = await walked(async (query) => {
    const { tasks, next_cursor: next } = await run.tasks(query);
    return { rows: tasks.map((one) => one.task), next };
  });
  expect(pages).toEqual([['0.0', '0.1'], ['0.2', '0.3'], ['0.4']]);
});

it('notes, from the newest page back, or the one at a position', async () => {
  const run = await client().start('wide', {}, { id: 'noted' });
  for (let n = 0; n < 4; n++) await run.signal('go', n);
  await expect.poll(async () => (await run.notes()).events.length).toBeGreaterThanOrEqual(4);
  await expect.poll(async () => (await run.tasks()).tasks.length).toBe(TASKS_COUNT - 4);
  const { events, next_cursor } = await run.notes();
  expect(next_cursor).toBeNull();
  const pages = await walked(async (query) => {
    const page = await run.notes(query);
    return { rows: page.events, next: page.next_cursor };
  });
  expect(pages.toReversed().flat()).toEqual(events);
  expect((await run.notes({ position: events[1]!.position })).events).toEqual([events[1]]);
});

it('schedules, the newest first', async () => {
  for (const id of ['s1', 's2', 's3']) {
    const params = { schedule: id };
    await client().ask('PUT /v1/schedules/{schedule}', { params, body: { definition: 'patient', cron: '0 0 1 1 *' } });
    const listed = () => client().ask('GET /v1/schedules', { query: {} });
    await expect.poll(async () => (await listed()).schedules.map(({ schedule }) => schedule)).toContain(id);
  }
  const pages = await walked(async (query) => {
    const { schedules, next_cursor: next } = await client().ask('GET /v1/schedules', { query });
    return { rows: schedules.map(({ schedule }) => schedule), next };
  });
  expect(pages).toEqual([['s3', 's2'], ['s1']]);
});

it('jobs, the newest first', async () => {
  for (const id of ['j1', 'j2', 'j3', 'j4']) {
    const body = { id, act: 'pause', filter: { text: 'nothing-fits' }, why: 'a test' } as const;
    await client().ask('POST /v1/jobs', { body });
    const listed = () => client().ask('GET /v1/jobs', { query: {} });
    await expect.poll(async () => (await listed()).jobs.map(({ job }) => job)).toContain(id);
  }
  const pages = await walked(async (query) => {
    const { jobs, next_cursor: next } = await client().ask('GET /v1/jobs', { query });
    return { rows: jobs.map(({ job }) => job), next };
  });
  expect(pages).toEqual([
    ['j4', 'j3'],
    ['j2', 'j1'],
  ]);
});

it('rejected events, the newest first', async () => {
  others.rejectedRows = [rejectedAt(1, 1, 0), rejectedAt(1, 4, 20), rejectedAt(0, 2, 20), rejectedAt(0, 3, 20)];
  const pages = await walked(async (query) => {
    const { rejected, next_cursor: next } = await client().ask('GET /v1/rejected', { query });
    return { rows: rejected.map(({ partition, offset }) => [partition, offset]), next };
  });
  expect(pages.flat()).toEqual([
    [0, 3],
    [0, 2],
    [1, 4],
    [1, 1],
  ]);
});

it("a workflow's segments, in order", async () => {
  const run = await client().start('patient', {}, { id: 'kept' });
  await run.get();
  const segmentAt = (from: number): SegmentRow => ({
    ...{ partition: 0 as Partition, from: from as Offset, to: (from + 10) as Offset, object: `o${from}` },
    ...{ digest: 'a'.repeat(64), bytes: 1, rawBytes: 2, eventCount: 10, firstAtMs: 1, lastAtMs: 2, writtenAtMs: 3 },
    ...{ tier: 'warm', rowsDropped: false },
    workflows: [
      {
        ...{ workflow: 'kept' as WorkflowId, tenant: 'default' as TenantId, eventCount: 10, rawBytes: 2 },
        ...{ opens: from === 0, closes: false },
      },
    ],
  });
  await served.host.ports.store.recordSegments([0, 10, 20].map(segmentAt));
  const pages = await walked(async (query) => {
    const params = { workflow: 'kept' };
    const page = await client().ask('GET /v1/workflows/{workflow}/segments', { params, query });
    return { rows: page.segments.map(({ from }) => from), next: page.next_cursor };
  });
  expect(pages).toEqual([[0, 10], [20]]);
});
