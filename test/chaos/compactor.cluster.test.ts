/**
 * A short run that kills compactors (I7): nothing that Kafka acknowledged is lost, doubled or changed by archiving. The long one is
 * `npm run chaos -- compactor`. The control: compactors that trim beyond what their segments hold.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { tailsIn } from '@tidemark/testkit/evidence';
import { describeServers, ownServer } from '@tidemark/testkit/suites';
import { expect, it, type TestContext } from 'vitest';
import { runSeed } from '../run-seed.ts';
import {
  type CompactorRunOptions,
  type CompactorRunResult,
  compactorCheckNames,
  runCompactorChaos,
} from './compactor-run.ts';

const TIMEOUT_MS = 900_000;
const seed = runSeed();

describeServers('killed compactors', ['kafka', 'redis', 'postgres'], ({ kafka, redis, postgres }) => {
  async function run(
    context: TestContext,
    options: Pick<CompactorRunOptions, 'killsMax' | 'segmentsMin' | 'liveMax' | 'without' | 'stillMaxMs'>,
  ): Promise<CompactorRunResult> {
    const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-compactor-test-'));
    const lines: string[] = [];
    const onProgress = (line: string): void => void lines.push(`${performance.now().toFixed(0)} ms: ${line}`);
    context.onTestFailed(() => console.log(`${lines.join('\n')}\n${tailsIn(folder)}`));
    const s3 = await ownServer(context, 's3');
    const servers = { kafka, redis, postgres, s3 };
    const result = await runCompactorChaos({
      ...options,
      seed,
      servers,
      folder,
      onProgress,
    });
    context.onTestFinished(async ({ task }) => {
      if (task.result?.state === 'pass') await rm(folder, { recursive: true });
    });
    return result;
  }

  it(`lose nothing (TIDEMARK_TEST_SEED=${seed})`, { timeout: TIMEOUT_MS }, async (context) => {
    const result = await run(context, { killsMax: 5, segmentsMin: 4, liveMax: 8 });
    for (const name of compactorCheckNames) expect(result.findings[name], name).toEqual([]);
    expect(result.invalid).toEqual([]);
    expect(result.surprises).toEqual([]);
    // It was a run worth the name.
    expect(result.killCount).toBeGreaterThanOrEqual(5);
    expect(result.disturbanceCounts).toEqual({ postgres_drop: 1, objects_pause: 1, kill9_coordinator: 1 });
    expect(result.segmentCount).toBeGreaterThan(3);
    expect(result.trimmedCount).toBeGreaterThan(100);
    expect(result.restoredCount).toBeGreaterThan(5);
  });

  it('lose events where they trim beyond their segments (the control)', { timeout: TIMEOUT_MS }, async (context) => {
    const without = { without: 'trim-to-segment', stillMaxMs: 1_000 };
    let result = await run(context, { killsMax: 1, segmentsMin: 4, liveMax: 8, ...without });
    // A run loses nothing where no workflow wrote between the reading of its segments and their trims.
    for (let again = 0; again < 3 && result.findings.lost_events.length === 0; again++) {
      result = await run(context, { killsMax: 1, segmentsMin: 4, liveMax: 8, ...without });
    }
    expect(result.invalid).toEqual([]);
    expect(result.findings.lost_events).not.toEqual([]);
    expect(result.findings.archive_problems.join()).toContain('archive-gap');
  });
});
