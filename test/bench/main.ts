/** `npm run bench -- SUITE [--json]`: measures, never judges. With --json one object a line and nothing else on standard output. */

import { parseArgs } from 'node:util';
import { measureConsole } from './console.ts';
import { measureAssembly } from './context-assemble.ts';
import { measureRecall } from './context-recall.ts';
import { measureSession } from './context-session.ts';
import { measureUse } from './context-use.ts';
import { controlParts, measureControl } from './control/control.ts';
import { measureEffectPath } from './effect-path.ts';
import { LOAD_USAGE, measureLoad } from './load/load.ts';
import { measureLooks } from './looks.ts';
import { measureOutage, OUTAGE_USAGE } from './outage.ts';
import { measurePartitions } from './partitions.ts';
import { PEERS_USAGE, peersCommand } from './peers/command.ts';
import { measureProviders } from './providers.ts';
import { rawLoopNs } from './raw.ts';
import { Report } from './report.ts';
import { measureReset } from './reset.ts';
import { measureResume } from './resume.ts';
import { printScaling, SCALING_USAGE } from './scaling/scaling.ts';
import { clusterSteps, embeddedSteps } from './steps.ts';
import { measureTiers, type TierPart, tierParts } from './tiers/tiers.ts';

const USAGE = `usage: npm run bench -- steps [--json] [--only embedded|cluster|commits]
       npm run bench -- partitions [--json] [--counts 100,1000,4000]
       npm run bench -- looks [--json] [--counts 1000,10000,100000]
       npm run bench -- console [--json]
       npm run bench -- path [--json]
       npm run bench -- reset [--json]
       npm run bench -- resume [--json] [--only overhead|kills|history|memory|orphans|deploys]
       npm run bench -- providers [--json]
       npm run bench -- context [--json] [--only assemble|session|recall|use]
       npm run bench -- control [--json] [--only ${controlParts.join('|')}]
       npm run bench -- tiers [--json] [--only compression|archive|rebuild|restore|commits|encryption]
       ${PEERS_USAGE}
       ${LOAD_USAGE}
       ${OUTAGE_USAGE}
       ${SCALING_USAGE}`;

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
  options: { json: { type: 'boolean', default: false }, only: { type: 'string' }, counts: { type: 'string' } },
});
const report = new Report(values.json);

if (positionals[0] === 'steps') {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  const onlyCommits = values.only === 'commits';
  if (values.only !== 'cluster') await embeddedSteps(report, onlyCommits);
  if (values.only !== 'embedded') await clusterSteps(report, onlyCommits);
} else if (positionals[0] === 'partitions') {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  const counts = (values.counts ?? '100,1000,4000').split(',').map(Number);
  await measurePartitions(counts, report);
} else if (positionals[0] === 'looks') {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  await measureLooks((values.counts ?? '1000,10000,100000').split(',').map(Number), report);
} else if (positionals[0] === 'console') {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  await measureConsole(report);
} else if (positionals[0] === 'reset') {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  await measureReset(report);
} else if (positionals[0] === 'path') {
  await measureEffectPath(report);
} else if (positionals[0] === 'resume') {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  await measureResume(report, values.only);
} else if (positionals[0] === 'providers') {
  await measureProviders(report);
} else if (positionals[0] === 'context' && isContextPart(values.only)) {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  await measureContext(values.only);
} else if (positionals[0] === 'control' && (values.only === undefined || controlParts.includes(values.only))) {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  await measureControl(report, values.only);
} else if (positionals[0] === 'tiers' && isTierPart(values.only)) {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  await measureTiers(report, values.only);
} else {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 64;
}
report.print();

function isContextPart(only: string | undefined): boolean {
  return only === undefined || ['assemble', 'session', 'recall', 'use'].includes(only);
}

function isTierPart(only: string | undefined): only is TierPart | undefined {
  return only === undefined || (tierParts as readonly string[]).includes(only);
}

async function measureContext(only: string | undefined): Promise<void> {
  if (only === undefined || only === 'assemble') {
    report.note('context: bundles of 500 fragments');
    const { median_ms, cold_ms } = await measureAssembly();
    report.add('context.assemble500.median_ms', median_ms, 'ms');
    report.add('context.assemble500.cold_ms', cold_ms, 'ms');
  }
  if (only === undefined || only === 'session') {
    report.note('context: a session of 200 turns');
    const { rawBytes, logBytes, recordBytes, packedBytes, rowsBytes } = await measureSession();
    report.add('context.session200.stored_ratio', logBytes / rawBytes, 'share');
    report.add('context.session200.raw_bytes', rawBytes, 'bytes');
    report.add('context.session200.records_bytes', recordBytes, 'bytes');
    report.add('context.session200.records_packed_bytes', packedBytes, 'bytes');
    report.add('context.session200.log_bytes', logBytes, 'bytes');
    report.add('context.session200.rows_bytes', rowsBytes, 'bytes');
  }
  if (only === undefined || only === 'recall') await measureRecall(report);
  if (only === undefined || only === 'use') await measureUse(report);
}
