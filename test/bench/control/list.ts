/**
 * `npm run bench -- control --only list`: pages of a list of 100,000 workflows, from the call to its answer on the same machine, so what it takes at
 * the server is less. The rows are put into Postgres as a projector would have written them; there is no log behind them.
 */

import { median, type Report } from '../report.ts';
import { onCluster } from './cluster.ts';

const ROW_COUNT = 100_000;
const ASKED_COUNT = 60;

/** Open, ended and parked ones of ten tenants and twenty definitions; a state of the usual size, in partitions that nobody folds. */
const ROWS = `
insert into workflows (workflow, tenant, partition, generation, definition, version, status, reason, position, sequence, belief_sequence,
  epoch, holder, lamport, opened_at_ms, updated_at_ms, tokens, cost_micros, last_action, runnable, pending_count, closed_in_generation,
  state, user_id, tags, words)
select 'run-' || n, 'tenant-' || n % 10, 100000 + n % 1024, n / 1024 + 1, 'agent-' || n % 20, 1,
  case when n % 10 < 6 then 'completed' when n % 10 < 8 then 'open' when n % 10 = 8 then 'failed' else 'parked' end, null, 20, 5, 0,
  3, null, n, 1.7e12 + n * 1000, 1.7e12 + n * 1000 + 500, 1200, 900, 'looked it up', false, 0,
  case when n % 10 < 6 or n % 10 = 8 then n / 1024 + 1 end, repeat('{"s":1}', 100), 'user-' || n % 1000,
  array['team:' || n % 50, 'env:' || case when n % 3 = 0 then 'prod' else 'test' end],
  array_to_tsvector(array['run', n::text, 'agent', 'user'])
from generate_series(1, $1::int) n`;

const QUESTIONS = {
  first: '',
  of_tenant: 'tenant=tenant-3',
  by_status: 'status=failed',
  by_rare_status: 'status=compensating',
  by_definition: 'definition=agent-7&status=open',
  by_user: 'user=user-77',
  by_tag: 'tag=team:9&tag=env:prod',
  by_text: 'text=run%2077777',
  by_absent_text: 'text=nothingofthekind',
  by_time: 'opened_from=2023-11-15T00:00:00Z&opened_to=2023-11-15T06:00:00Z&status=open',
} as const;

/** Puts so many workflows there. */
export async function fillRows(postgresUrl: string, count: number): Promise<void> {
  const { default: pg } = await import('pg');
  const rows = new pg.Client({ connectionString: postgresUrl });
  await rows.connect();
  await rows.query(ROWS, [count]);
  await rows.query('analyze workflows');
  await rows.end();
}

export function measureList(report: Report): Promise<void> {
  return onCluster({ worker: false }, async ({ url, postgresUrl }) => {
    await fillRows(postgresUrl, ROW_COUNT);
    report.note(`control: pages of 50 of ${ROW_COUNT} workflows in Postgres`);
    let slowest = 0;
    for (const [name, query] of Object.entries(QUESTIONS)) {
      const took: number[] = [];
      for (let at = 0; at < ASKED_COUNT; at++) {
        const beganMs = performance.now();
        const answer = await fetch(`${url}/v1/workflows?limit=50&${query}`);
        if (!answer.ok) throw new Error(`${query}: ${answer.status} ${await answer.text()}`);
        await answer.arrayBuffer();
        took.push(performance.now() - beganMs);
      }
      if (name === 'first') {
        report.add('control.list100k_ms', median(took), 'ms');
        report.addTail('control.list100k.p99_ms', took, 'ms');
      } else report.add(`control.list100k.${name}_ms`, median(took), 'ms');
      slowest = Math.max(slowest, median(took));
    }
    report.add('control.list100k.slowest_ms', slowest, 'ms');
    const fleet: number[] = [];
    for (let at = 0; at < 5; at++) {
      // Kept for two seconds.
      await new Promise((resolve) => setTimeout(resolve, 2_100));
      const beganMs = performance.now();
      await (await fetch(`${url}/v1/fleet`)).arrayBuffer();
      fleet.push(performance.now() - beganMs);
    }
    report.add('control.fleet100k_ms', median(fleet), 'ms');
  });
}
