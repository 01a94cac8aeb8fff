/** `npm run bench -- SUITE [--json]`: measures, never judges. With --json one object a line and nothing else on standard output. */

import { parseArgs } from 'node:util';
import { measureConsole } from './console.ts';
import { measureAssembly } from './context-assemble.ts';
import { measureRecall } from './context-recall.ts';
import { measureSession } from './context-session.ts';
import { measureUse } from './context-use.ts';
import { controlParts, measureControl } from './control/control.ts';
import { doorParts, measureDoors } from './doors.ts';
import { measureEffectPath } from './effect-path.ts';
import { functionParts, measureFunctions } from './functions.ts';
import { measureLife } from './life.ts';
import { LOAD_USAGE, measureLoad } from './load/load.ts';
import { measureLooks } from './looks.ts';
import { measureOutage, OUTAGE_USAGE } from './outage.ts';
import { measurePartitions } from './partitions.ts';
import { PEERS_USAGE, peersCommand } from './peers/command.ts';
import { measureProviders } from './providers.ts';
import { rawLoopNs } from './raw.ts';
import { Report } from './report.ts';
import { measureReset } from './reset.ts';
import { measureResume, resumeParts } from './resume.ts';
import { printScaling, SCALING_USAGE } from './scaling/scaling.ts';
import { measureStepSuite, stepParts } from './steps.ts';
import { measureTiers, tierParts } from './tiers/tiers.ts';
import { measureWakes, wakeParts } from './wakes.ts';

interface Suite {
  /** What `--only` may name, with commas between; absent: nothing. */
  readonly parts?: readonly string[];
  /** Of `--counts`, where it takes any. */
  readonly counts?: string;
  /** `parts`: those that are wanted. */
  measure(report: Report, parts: readonly string[], counts: readonly number[]): Promise<void>;
}

const suites: Readonly<Record<string, Suite>> = {
  steps: { parts: stepParts, measure: measureStepSuite },
  functions: { parts: functionParts, measure: measureFunctions },
  life: { counts: '1,64,1000', measure: (to, _, counts) => measureLife(to, counts) },
  wakes: { parts: wakeParts, counts: '1,64,10000', measure: measureWakes },
  partitions: { counts: '100,1000,4000', measure: (to, _, counts) => measurePartitions(counts, to) },
  looks: { counts: '1000,10000,100000', measure: (to, _, counts) => measureLooks(counts, to) },
  doors: { parts: doorParts, measure: measureDoors },
  console: { measure: measureConsole },
  path: { measure: measureEffectPath },
  reset: { measure: measureReset },
  resume: { parts: resumeParts, measure: measureResume },
  providers: { measure: measureProviders },
  context: { parts: ['assemble', 'session', 'recall', 'use'], measure: measureContext },
  control: { parts: controlParts, measure: measureControl },
  tiers: { parts: tierParts, measure: measureTiers },
};

const usageOf = ([name, { parts, counts }]: [string, Suite]): string =>
  `npm run bench -- ${name} [--json]${parts === undefined ? '' : ` [--only ${parts.join(',')}]`}${counts === undefined ? '' : ` [--counts ${counts}]`}`;

const USAGE = `usage: ${[...Object.entries(suites).map(usageOf), PEERS_USAGE, LOAD_USAGE, OUTAGE_USAGE, SCALING_USAGE].join('\n       ')}`;

// Suites with options of their own.
const own = { load: measureLoad, outage: measureOutage, peers: peersCommand, scaling: printScaling }[
  process.argv[2] ?? ''
];
if (own !== undefined) {
  const report = new Report(process.argv.includes('--json'));
  const code = await own(process.argv.slice(3), report);
  report.print();
  process.exit(code);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    counts: { type: 'string' },
  },
});
const report = new Report(values.json);
const suite = suites[positionals[0] ?? ''];
const parts = values.only?.split(',') ?? suite?.parts ?? [];
if (values.help) {
  process.stdout.write(`${USAGE}\n`);
} else if (suite === undefined || !parts.every((part) => suite.parts?.includes(part))) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 64;
} else {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  await suite.measure(report, parts, (values.counts ?? suite.counts ?? '').split(',').map(Number));
}
report.print();

async function measureContext(_: Report, only: readonly string[]): Promise<void> {
  if (only.includes('assemble')) {
    report.note('context: bundles of 500 fragments');
    const { median_ms, cold_ms } = await measureAssembly();
    report.add('context.assemble500.median_ms', median_ms, 'ms');
    report.add('context.assemble500.cold_ms', cold_ms, 'ms');
  }
  if (only.includes('session')) {
    report.note('context: a session of 200 turns');
    const { rawBytes, logBytes, recordBytes, packedBytes, rowsBytes } = await measureSession();
    report.add('context.session200.stored_ratio', logBytes / rawBytes, 'share');
    report.add('context.session200.raw_bytes', rawBytes, 'bytes');
    report.add('context.session200.records_bytes', recordBytes, 'bytes');
    report.add('context.session200.records_packed_bytes', packedBytes, 'bytes');
    report.add('context.session200.log_bytes', logBytes, 'bytes');
    report.add('context.session200.rows_bytes', rowsBytes, 'bytes');
  }
  if (only.includes('recall')) await measureRecall(report);
  if (only.includes('use')) await measureUse(report);
}
