/**
 * Two releases on one Kafka, Redis and Postgres, under load (I1, I2, I4, I5, E6): a coordinator and a worker of this release are replaced by the
 * next one's, which expands the tables, and those by this one's again. `npm run upgrade` replaces all, process by process, and does the same
 * from the release before to this one.
 */

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { eventually } from '@tidemark/testkit/eventually';
import { tailsIn } from '@tidemark/testkit/evidence';
import { describeServers } from '@tidemark/testkit/suites';
import pg from 'pg';
import { expect, it } from 'vitest';
import type { Fleet } from '../chaos/fleet.ts';
import { runSeed } from '../run-seed.ts';
import { CONTROL_MAX_MS } from '../upgrade/limits.ts';
import { CONTRACT_SQL, NEXT_CHANGES } from '../upgrade/next-release.ts';
import { command, runUpgrade, upgradeChecks } from '../upgrade/run.ts';
import { changedRelease, ROOT } from '../upgrade/trees.ts';

const TIMEOUT_MS = 900_000;
const seed = runSeed();

async function query(fleet: Fleet, text: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: fleet.databaseUrl.href });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** What the processes of all coordinators have said. */
async function logsIn(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => /^coordinator-\d+\.log$/.test(name));
  return (await Promise.all(names.map((name) => readFile(path.join(folder, name), 'utf8')))).join('\n');
}

describeServers('a rolling upgrade', ['kafka', 'redis', 'postgres'], () => {
  it(`loses nothing there and back (TIDEMARK_TEST_SEED=${seed})`, { timeout: TIMEOUT_MS }, async ({ onTestFailed }) => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-upgrade-test-'));
    const lines: string[] = [];
    onTestFailed(() => console.log(`${lines.join('\n')}\n${tailsIn(folder)}`));
    const next = await changedRelease(NEXT_CHANGES, path.join(folder, 'next'));
    const result = await runUpgrade({
      ...{ from: ROOT, to: next, newest: next, workerCount: 2, replaced: 1, atOnce: 2, liveMax: 8, seed, folder },
      onProgress: (line) => lines.push(`${new Date().toISOString()} ${line}`),
      async whenMixed(fleet) {
        // This release's processes are there, and would fail by it.
        const refused = await command(next, fleet, 'admin', 'migrate', '--contract');
        expect([refused.code, refused.err]).toEqual([69, expect.stringContaining("don't know")]);
        expect(refused.err).toContain('9002-without-this');
      },
      async afterwards(fleet, host) {
        expect((await query(fleet, 'select name from tidemark_expansions order by name')).at(-1)).toEqual({
          name: '9001-next',
        });
        // Control: had it been contracted, nothing would go on, so the run above would have told.
        expect(await logsIn(folder)).not.toContain('tidemark_expect(');
        await query(fleet, CONTRACT_SQL);
        const { pace } = await import('../chaos/workload.ts');
        await host.client.start(pace, { count: 1, pauseMs: 1 }, { id: 'under-a-contraction' });
        await eventually(async () => (await logsIn(folder)).includes('tidemark_expect('), {
          timeoutMs: CONTROL_MAX_MS,
          what: 'a coordinator that misses what was contracted',
        });
        expect(await query(fleet, `select 1 from workflows where workflow = 'under-a-contraction'`)).toEqual([]);
      },
    });
    for (const name of upgradeChecks) {
      const accounts = result.findings[name].map(({ workflow, what }) => `${what}\n${result.account(workflow)}`);
      expect(accounts, name).toEqual([]);
    }
    expect(result.surprises).toEqual([]);
    // It was a run worth the name.
    expect(result.replacedCount).toBe(4);
    expect(result.effectCount).toBeGreaterThan(20);
    await rm(folder, { recursive: true });
  });
});
