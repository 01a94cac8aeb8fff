/**
 * `npm run bench -- scaling [--workflows 100000] [--checkpoints-per-s 20000] [--costs FILE] [--json]`: what a load takes, on paper, from measured
 * costs, and what queueing makes of it, by simulation. It starts nothing; docs/scaling.md says what of it is extrapolated.
 */

import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { defaultLimits } from '@tidemark/log-kafka';
import type { Report } from '../report.ts';
import { costsFrom, MEASURED } from './costs.ts';
import { boundsOf, DEFAULT_SHAPE, type Shape, sizeOf } from './model.ts';
import { simulate } from './simulation.ts';

export const SCALING_USAGE =
  'npm run bench -- scaling [--workflows 100000] [--checkpoints-per-s 20000] [--life-s 600] [--costs FILE] [--utilisation 0.5] [--replication 3] [--partitions-max 4096] [--round-trip-ms 2] [--json]';
const EXIT_USAGE = 64;
const SIMULATED_COUNT = 200_000;
/** Largest primary that is assumed, in cores. */
const POSTGRES_CORES_MAX = 64;
/** Processor time of a broker for one request, in milliseconds: an estimate, since load runs tell it by checkpoint alone. */
const REQUEST_MS = 0.1;
/** The worker's time is thought to be spent evenly before and after the append. */
const BEFORE_SHARE = 0.5;

/** What the appender of a worker with so many workflows does, each in a partition of its own (decision 0041). */
function gatherMs(perWorkerPerS: number): number {
  const isSpread = (perWorkerPerS * defaultLimits.spreadWindowMs) / 1_000 >= defaultLimits.gatherPartitionsMin;
  return isSpread ? defaultLimits.gatherMs : 0;
}

/** Returns the exit code. */
export async function printScaling(args: readonly string[], report: Report): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      workflows: { type: 'string', default: '100000' },
      'checkpoints-per-s': { type: 'string', default: '20000' },
      'life-s': { type: 'string', default: '600' },
      costs: { type: 'string' },
      utilisation: { type: 'string', default: String(DEFAULT_SHAPE.utilisation) },
      replication: { type: 'string', default: String(DEFAULT_SHAPE.replication) },
      'partitions-max': { type: 'string', default: String(DEFAULT_SHAPE.partitionsMax) },
      'round-trip-ms': { type: 'string', default: '2' },
      json: { type: 'boolean', default: false },
    },
  });
  const load = {
    workflows: Number(values.workflows),
    checkpointsPerS: Number(values['checkpoints-per-s']),
    lifeS: Number(values['life-s']),
  };
  const shape: Shape = {
    ...DEFAULT_SHAPE,
    utilisation: Number(values.utilisation),
    replication: Number(values.replication),
    partitionsMax: Number(values['partitions-max']),
  };
  const roundTripMs = Number(values['round-trip-ms']);
  const positive = [...Object.values(load), shape.utilisation, shape.replication, shape.partitionsMax, roundTripMs];
  if (!positive.every((value) => value > 0 && Number.isFinite(value)) || shape.utilisation >= 1) {
    process.stderr.write(`expected positive numbers, and a utilisation below 1\nusage: ${SCALING_USAGE}\n`);
    return EXIT_USAGE;
  }
  const costs = values.costs === undefined ? MEASURED : costsFrom(await readFile(values.costs, 'utf8'));
  const size = sizeOf(load, costs, shape);
  for (const [name, value] of Object.entries(size)) {
    if (typeof value === 'number') report.add(`scaling.${name}`, value, UNITS[name] ?? 'count');
    else
      for (const [part, of] of Object.entries(value as Readonly<Record<string, number>>))
        report.add(`scaling.${name}.${part}`, of, UNITS[part] ?? 'count');
  }
  for (const { what, used, why } of boundsOf(load, size, costs, shape, POSTGRES_CORES_MAX)) {
    report.add(`scaling.bound.${what.replaceAll(' ', '_')}`, used, 'share');
    report.note(`${what}: ${(used * 100).toFixed(0)} % of it: ${why}`);
  }
  const workersPerBroker = Math.max(1, Math.round(size.workers / size.brokers));
  const perWorkerPerS = load.checkpointsPerS / size.workers;
  const way = {
    ...{ perWorkerPerS, workerMs: costs.cpuUs.worker / 1_000, workersPerBroker },
    brokerCores: Math.max(1, Math.floor(size.brokerCores / size.brokers)),
    // What one request costs is in the measured figure; it is taken out again at about one checkpoint a request.
    brokerMs: Math.max(0.01, costs.cpuUs.kafka / 1_000 - REQUEST_MS / 2),
    ...{ requestMs: REQUEST_MS, roundTripMs, beforeShare: BEFORE_SHARE, gatherMs: gatherMs(perWorkerPerS) },
  };
  const found = simulate(way, SIMULATED_COUNT);
  report.add('scaling.simulated.commit_p50_ms', found.p50Ms, 'ms');
  report.add('scaling.simulated.commit_p99_ms', found.p99Ms, 'ms');
  report.add('scaling.simulated.worker_busy', found.workerBusy, 'share');
  report.add('scaling.simulated.broker_busy', found.brokerBusy, 'share');
  report.add('scaling.simulated.checkpoints_per_request', found.batch, 'checkpoints');
  return 0;
}

const UNITS: Readonly<Record<string, string>> = {
  ...{ workers: 'processes', coordinators: 'processes', compactors: 'processes', brokers: 'brokers' },
  ...{ brokerCores: 'cores', postgresCores: 'cores', machines: 'machines', partitions: 'partitions' },
  ...{
    workflowsPerPartition: 'workflows',
    bytesPerS: 'bytes/s',
    brokerOutBytesPerS: 'bytes/s',
    gapBytesPerS: 'bytes/s',
    hotBytes: 'bytes',
  },
  ...{ bytesPerDay: 'bytes/day', warmBytes: 'bytes', checkpointRowsPerS: 'rows/s', hotRows: 'rows' },
  ...{ commandsPerS: 'commands/s', leaseRowsPerS: 'rows/s' },
};
