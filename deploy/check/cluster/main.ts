/**
 * Owns the check of the chart on a cluster of real kubelets: `deploy/check.sh --cluster [--json] [--nodes 1|2]`. It runs in namespaces of its own
 * (../cluster.sh): RUN, GROUP, CACHE. Exits with 1 when a step was lost, doubled or repeated for nothing, or a run ended wrongly.
 */

import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { messageOf } from '@tidemark/core';
import { Report } from '../../../test/bench/report.ts';
import { Installation } from './installation.ts';
import { Outside } from './marks.ts';
import { PHASES } from './phases.ts';
import { Run } from './run.ts';
import { Runs } from './runs.ts';
import { OUTSIDE, World } from './world.ts';

const MARKS_PORT = 8080;
const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    nodes: { type: 'string', default: '2' },
    /** Only the phases whose names match this; for who works on one. */
    only: { type: 'string', default: '' },
  },
});
const { RUN = '', GROUP = '', CACHE = '' } = process.env;
const report = new Report(values.json);
const beganMs = Date.now();
let lastMs = beganMs;
const lap = (what: string): void => {
  report.note(`${((Date.now() - lastMs) / 1_000).toFixed(1).padStart(6)} s  ${what}`);
  lastMs = Date.now();
};

const world = new World({ run: RUN, cache: CACHE, group: GROUP, nodeCount: Number(values.nodes) });
await world.start();
lap(`${values.nodes} nodes are ready, and the servers`);
const outside = new Outside();
await outside.listen(OUTSIDE, MARKS_PORT);
const installation = new Installation(world);
await installation.install();
report.add('cluster.install_ms', Date.now() - lastMs, 'ms');
lap('the chart is installed');
const key = await installation.createKey('first', 'admin');
const run = new Run({ world, installation, outside, report, runs: new Runs(await installation.apiUrl(), key) });
await world.kube.apply(kedaManifest());
lap('a key, and KEDA is applied');
for (const phase of PHASES) {
  if ((phase.needsTwoNodes && world.nodes.length < 2) || !new RegExp(values.only).test(phase.name)) continue;
  try {
    await phase.run(run);
  } catch (error) {
    run.wrong.push(`${phase.name}: ${messageOf(error)}`);
    break;
  }
  lap(phase.name);
}
run.judge();
report.add('cluster.pass_s', (Date.now() - beganMs) / 1_000, 's');
report.print();
for (const wrong of run.wrong) report.note(`FAILED   ${wrong}`);
process.exit(run.wrong.length === 0 ? 0 : 1);

/** As its module has it, with the images named as they are built here, on the node that stays; its webhooks only refuse what is wrong. */
function kedaManifest(): string {
  const parts = readFileSync(`${CACHE}/keda.yaml`, 'utf8').split('\n---\n');
  return parts
    .filter((part) => !/^kind: ValidatingWebhookConfiguration|^ {2}name: keda-admission/m.test(part))
    .join('\n---\n')
    .replaceAll('ghcr.io/kedacore/keda-metrics-apiserver:main', 'localhost/keda-adapter:1')
    .replaceAll('ghcr.io/kedacore/keda:main', 'localhost/keda:1')
    .replaceAll('imagePullPolicy: Always', 'imagePullPolicy: Never')
    .replaceAll(/initialDelaySeconds: \d+/g, 'initialDelaySeconds: 1')
    .replaceAll(/^( *)kubernetes.io\/os: linux$/gm, '$1kubernetes.io/os: linux\n$1kubernetes.io/hostname: n1');
}
