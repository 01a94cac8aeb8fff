/**
 * A short chaos run with real processes (I2, I3, I4, I6, D1, D6), with a parent of 200 children that ask people, and a schedule. The long one is `npm run chaos`. The run starts servers of its
 * own, since it kills them; the suite's tell whether such servers can be had.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { tailsIn } from '@tidemark/testkit/evidence';
import { describeServers } from '@tidemark/testkit/suites';
import { expect, it } from 'vitest';
import { runSeed } from '../run-seed.ts';
import { checkNames, runChaos } from './run.ts';

const DURATION_MS = 34_000;
const KINDS_MIN = 4;
const TIMEOUT_MS = 900_000;
const seed = runSeed();

describeServers('chaos', ['kafka', 'redis', 'postgres'], () => {
  it(`breaks no promise (TIDEMARK_TEST_SEED=${seed})`, { timeout: TIMEOUT_MS }, async ({ onTestFailed }) => {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-chaos-test-'));
    const lines: string[] = [];
    onTestFailed(() => console.log(`${lines.join('\n')}\n${tailsIn(folder)}`));
    const result = await runChaos({
      durationMs: DURATION_MS,
      kindsMin: KINDS_MIN,
      workerCount: 2,
      liveMax: 20,
      seed,
      folder,
      onProgress: (line) => lines.push(line),
    });
    for (const name of checkNames) {
      const accounts = result.findings[name].map(({ workflow, what }) => `${what}\n${result.account(workflow)}`);
      expect(accounts, name).toEqual([]);
    }
    expect(result.surprises).toEqual([]);
    // It was a run worth the name.
    expect(result.killCount).toBeGreaterThan(0);
    expect(Object.values(result.faultCounts).filter((count) => count > 0).length).toBeGreaterThanOrEqual(KINDS_MIN);
    // However busy the machine is.
    expect(result.acknowledgedCount).toBeGreaterThan(10);
    expect(result.effectCount).toBeGreaterThan(5);
    await rm(folder, { recursive: true });
  });
});
