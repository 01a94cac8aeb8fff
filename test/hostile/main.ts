/**
 * `npm run hostile -- [--inputs N] [--seed S] [--rate R] [--rounds N] [--json]`: malformed requests and records at real services, with
 * a tenant beside who works. Exits with 1 when a service ended, answered 5xx other than 503, kept anybody waiting, or took more memory than it has.
 */

import { parseArgs } from 'node:util';
import { startClusterServers } from '@tidemark/testkit/servers';
import { rawLoopNs } from '../bench/raw.ts';
import { Report } from '../bench/report.ts';
import { INPUTS_DEFAULT_COUNT, RATE_DEFAULT, ROUND_S, ROUNDS_DEFAULT_COUNT } from './limits.ts';
import { brokenBy, runHostile } from './run.ts';

const { values } = parseArgs({
  options: {
    inputs: { type: 'string', default: String(INPUTS_DEFAULT_COUNT) },
    seed: { type: 'string', default: '1' },
    rate: { type: 'string', default: String(RATE_DEFAULT) },
    rounds: { type: 'string', default: String(ROUNDS_DEFAULT_COUNT) },
    json: { type: 'boolean', default: false },
  },
});
const report = new Report(values.json);
report.add('machine.loop_ns', rawLoopNs(), 'ns');
const servers = await startClusterServers({ dataIn: 'memory' });
const result = await runHostile({
  servers: { kafka: servers.kafka.address, redis: servers.redis.address, postgres: servers.postgres.address },
  inputs: Number(values.inputs),
  seed: values.seed,
  rate: Number(values.rate),
  rounds: Number(values.rounds),
  roundS: ROUND_S,
  onNote: (text) => report.note(text),
}).finally(() => servers.stop());
report.add('hostile.inputs', result.inputs, 'inputs');
report.add('hostile.crashes', result.crashes, 'services');
report.add('hostile.errors_5xx', result.errors5xx, 'answers');
report.add('hostile.unanswered', result.unanswered, 'requests');
report.add('hostile.tenant_errors', result.tenantErrors, 'requests');
report.add('hostile.tenant_p99_ratio', result.tenantP99Ratio, 'x');
report.add('hostile.tenant_p99_valid_ms', result.tenantP99Ms.valid, 'ms');
report.add('hostile.tenant_p99_hostile_ms', result.tenantP99Ms.hostile, 'ms');
report.add('hostile.idle_cores', result.idleCores, 'cores');
report.add('hostile.peak_mb', result.peakMb.coordinator, 'MB');
report.add('hostile.worker_peak_mb', result.peakMb.worker, 'MB');
report.note(`answers by status: ${JSON.stringify(result.statuses)}`);
for (const fault of result.faults) report.note(`fault: ${JSON.stringify(fault)}`);
const broken = brokenBy(result);
for (const promise of broken) report.note(`broken: ${promise}`);
report.print();
process.exit(broken.length > 0 ? 1 : 0);
