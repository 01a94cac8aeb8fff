/**
 * `npm run bench -- looks`: what a coordinator's looks at all that can run and at all leases take, with so many workflows in Postgres: the
 * time, and the processor time of whoever looks. Rows are written by SQL, since a log behind them would change nothing of it. Left out is what the queue and the view of who lives take.
 */

import type { HolderId, Offset, Partition, WorkflowId } from '@tidemark/core';
import type { RowStore, RunnableStream } from '@tidemark/ports';
import { Demand, PausedQueues } from '@tidemark/runtime';
import { openPostgresStore } from '@tidemark/store-postgres';
import { isUnavailable, startServer } from '@tidemark/testkit/servers';
import pg from 'pg';
import { median, type Report } from './report.ts';

const LOOKS = 7;
const PAGE_COUNT = 1_000;
const HOLDER_COUNT = 100;
const PARTITION_COUNT = 4_096;
/** About what an agent's has, beside how it is dispatched. */
const STATE_BYTES = 900;
const DISPATCH = { priority: 3, limits: [{ key: 'tenant', concurrency: 50 }] };

const fill = `
insert into workflows (workflow, tenant, partition, generation, definition, version, status, position, sequence, belief_sequence, epoch,
  lamport, opened_at_ms, updated_at_ms, tokens, cost_micros, last_action, runnable, pending_count, state)
select 'w' || lpad(n::text, 8, '0'), 'default', n % ${PARTITION_COUNT}, 1, 'agent', 1, 'open', 1, 0, 0, 0, 1, 1, 1, 0, 0, '', true, 1, $1
from generate_series(1, $2::int) n`;
const lease = `update workflows set runnable = false, epoch = 1, holder = 'worker-' || (partition % ${HOLDER_COUNT})`;

export async function measureLooks(counts: readonly number[], report: Report): Promise<void> {
  for (const count of counts) {
    const server = await startServer('postgres', { dataIn: 'memory', sources: ['native'] });
    if (isUnavailable(server)) throw new Error(`Postgres: ${server.unavailable}. Remedy: ${server.remedy}.`);
    const store = openPostgresStore({ url: server.address });
    const sql = new pg.Client({ connectionString: server.address });
    try {
      await store.ensure();
      await store.addPartitions(
        Array.from({ length: PARTITION_COUNT }, (_, n) => {
          return { partition: n as Partition, start: 0 as Offset, rebuildTo: 0 as Offset };
        }),
      );
      await sql.connect();
      const text = Buffer.alloc(STATE_BYTES / 2).toString('hex');
      await sql.query(fill, [JSON.stringify({ text, dispatch: DISPATCH }), count]);
      await sql.query('vacuum analyze workflows');
      await measureCount(count, store, sql, report);
    } finally {
      await sql.end();
      await store.close();
      await server.stop();
    }
  }
}

async function measureCount(count: number, store: RowStore, sql: pg.Client, report: Report): Promise<void> {
  const demand = new Demand({ monotonicMs: () => performance.now() });
  const printFigure = (name: string, { tookMs, cpuMs }: Taken): void => {
    report.add(`looks.${count}.${name}_ms`, tookMs, 'ms');
    report.add(`looks.${count}.${name}_cpu_ms`, cpuMs, 'ms');
  };
  let known: ReadonlyMap<WorkflowId, RunnableStream> = new Map();
  const pollRunnable = async (): Promise<void> => {
    const poll = demand.beginPoll();
    const found = await allRunnable(store, known);
    poll.foundRunnable(found, new PausedQueues([]));
    poll.end();
    known = new Map(found.map((stream) => [stream.workflow, stream]));
  };
  printFigure('first_runnable', await timed(pollRunnable));
  printFigure('runnable', await timedOften(pollRunnable));

  await sql.query(lease);
  await sql.query('vacuum analyze workflows');
  const living = new Map(Array.from({ length: HOLDER_COUNT }, (_, n) => [`worker-${n}` as HolderId, undefined]));
  printFigure(
    'leases',
    await timedOften(async () => {
      const poll = demand.beginPoll();
      poll.foundLeases(await store.leases(), living);
      poll.end();
    }),
  );
}

async function allRunnable(
  store: RowStore,
  known: ReadonlyMap<WorkflowId, RunnableStream>,
): Promise<readonly RunnableStream[]> {
  const found: RunnableStream[] = [];
  for (;;) {
    const page = await store.runnable(found.at(-1)?.workflow ?? null, PAGE_COUNT, known);
    found.push(...page);
    if (page.length < PAGE_COUNT) return found;
  }
}

interface Taken {
  readonly tookMs: number;
  readonly cpuMs: number;
}

async function timed(poll: () => Promise<void>): Promise<Taken> {
  const [beganMs, before] = [performance.now(), process.cpuUsage()];
  await poll();
  const { user, system } = process.cpuUsage(before);
  return { tookMs: performance.now() - beganMs, cpuMs: (user + system) / 1_000 };
}

async function timedOften(poll: () => Promise<void>): Promise<Taken> {
  const all: Taken[] = [];
  for (let n = 0; n < LOOKS; n++) all.push(await timed(poll));
  return { tookMs: median(all.map(({ tookMs }) => tookMs)), cpuMs: median(all.map(({ cpuMs }) => cpuMs)) };
}
