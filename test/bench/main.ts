/** `npm run bench -- SUITE [--json]`: measures, never judges. With --json one object a line and nothing else on standard output. */

import { parseArgs } from 'node:util';
import { measurePartitions } from './partitions.ts';
import { rawLoopNs } from './raw.ts';
import { Report } from './report.ts';
import { measureResume } from './resume.ts';
import { clusterSteps, embeddedSteps } from './steps.ts';

const USAGE = `usage: npm run bench -- steps [--json] [--only embedded|cluster]
       npm run bench -- partitions [--json] [--counts 100,1000,4000]
       npm run bench -- resume [--json] [--only overhead|kills|history|memory|orphans]`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, only: { type: 'string' }, counts: { type: 'string' } },
});
const report = new Report(values.json);

if (positionals[0] === 'steps') {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  if (values.only !== 'cluster') await embeddedSteps(report);
  if (values.only !== 'embedded') await clusterSteps(report);
} else if (positionals[0] === 'partitions') {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  const counts = (values.counts ?? '100,1000,4000').split(',').map(Number);
  await measurePartitions(counts, report);
} else if (positionals[0] === 'resume') {
  report.add('machine.loop_ns', rawLoopNs(), 'ns');
  await measureResume(report, values.only);
} else {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 64;
}
report.print();
