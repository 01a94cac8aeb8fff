/**
 * Owns `npm run chaos -- compactor [--kills N] [--seed S] [--live N] [--json] [--keep]`: compactors are killed with -9 while workflows run,
 * on real servers; then log and segments are held against what a witness saw in Kafka. Exits with 1 when an event was lost, doubled or
 * changed, or another promise broken; with 2 when the run proves nothing.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { NativeServer } from '@tidemark/testkit/servers';
import { Report } from '../bench/report.ts';
import { COMPACTOR_LIVE_DEFAULT, KILLS_DEFAULT } from './compactor-limits.ts';
import { type CompactorRunResult, compactorCheckNames, runCompactorChaos } from './compactor-run.ts';
import { startNative } from './fleet.ts';

const USAGE = 'usage: npm run chaos -- compactor [--kills N] [--seed S] [--live N] [--json] [--keep]';
const EXIT_USAGE = 64;
const EXIT_INTERRUPTED = 130;
const EXIT_INVALID = 2;
/** Findings of one kind that are told. */
const SHOWN_MAX_COUNT = 10;

export async function compactorChaos(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      kills: { type: 'string', default: String(KILLS_DEFAULT) },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
      live: { type: 'string', default: String(COMPACTOR_LIVE_DEFAULT) },
      json: { type: 'boolean', default: false },
      keep: { type: 'boolean', default: false },
    },
  });
  const [killsMax, seed, liveMax] = [values.kills, values.seed, values.live].map(Number) as [number, number, number];
  if (![killsMax, seed, liveMax].every(Number.isSafeInteger) || killsMax < 1 || liveMax < 1) {
    process.stderr.write(`${USAGE}\n`);
    return EXIT_USAGE;
  }
  const report = new Report(values.json);
  const interrupted = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupted.abort(signal));
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-compactor-'));
  report.note(`seed ${seed}, ${killsMax} kills, ${liveMax} workflows at once; logs in ${folder}`);
  const startedMs = performance.now();
  const servers = await startServers();
  try {
    const result = await runCompactorChaos({
      ...{ killsMax, seed, liveMax, folder },
      servers: {
        kafka: servers.kafka.address,
        redis: servers.redis.address,
        postgres: servers.postgres.address,
        s3: servers.s3,
      },
      onProgress: (line) => report.note(`${((performance.now() - startedMs) / 1_000).toFixed(0)} s: ${line}`),
      signal: interrupted.signal,
    });
    const isSound = printResult(result, report, (performance.now() - startedMs) / 1_000);
    if (isSound && !values.keep) await rm(folder, { recursive: true });
    if (result.invalid.length > 0) return EXIT_INVALID;
    return isSound ? 0 : 1;
  } catch (error) {
    if (!interrupted.signal.aborted) throw error;
    report.note('interrupted; everything was ended');
    return EXIT_INTERRUPTED;
  } finally {
    await Promise.all(Object.values(servers).map((server) => server.stop()));
  }
}

async function startServers(): Promise<Readonly<Record<'kafka' | 'redis' | 'postgres' | 's3', NativeServer>>> {
  const [kafka, redis, postgres, s3] = await Promise.all([
    startNative('kafka'),
    startNative('redis'),
    startNative('postgres'),
    startNative('s3'),
  ]);
  return { kafka, redis, postgres, s3 };
}

/** Whether every promise was kept. */
function printResult(result: CompactorRunResult, report: Report, seconds: number): boolean {
  const add = (name: string, value: number, unit: string): void => report.add(`compactor.${name}`, value, unit);
  const { findings } = result;
  add('kills', result.killCount, 'kills');
  for (const name of compactorCheckNames)
    add(name, findings[name].length, name.endsWith('_events') ? 'events' : 'cases');
  add('surprises', result.surprises.length, 'cases');
  add('workflows', result.workflowCount, 'workflows');
  add('events', result.eventCount, 'events');
  add('archived_events', result.archivedCount, 'events');
  add('trimmed_events', result.trimmedCount, 'events');
  add('segments', result.segmentCount, 'segments');
  add('orphan_objects', result.orphanCount, 'objects');
  add('restored', result.restoredCount, 'workflows');
  if (result.restoredCount > 0) add('rebuild_events_per_s', result.eventCount / (result.rebuiltMs / 1_000), 'events/s');
  for (const [what, count] of Object.entries(result.disturbanceCounts)) add(`faults.${what}`, count, 'faults');
  for (const [step, count] of [...result.killedIn].sort((a, b) => b[1] - a[1]))
    add(`killed_in.${step}`, count, 'kills');
  add('killing_seconds', result.killingMs / 1_000, 's');
  add('seconds', seconds, 's');
  for (const name of compactorCheckNames) {
    for (const what of findings[name].slice(0, SHOWN_MAX_COUNT)) report.note(`${name}: ${what}`);
    if (findings[name].length > SHOWN_MAX_COUNT)
      report.note(`${name}: ${findings[name].length - SHOWN_MAX_COUNT} more`);
  }
  for (const what of result.invalid) report.note(`invalid: ${what}`);
  report.print();
  return result.invalid.length === 0 && compactorCheckNames.every((name) => findings[name].length === 0);
}
