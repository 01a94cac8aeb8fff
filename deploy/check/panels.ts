/**
 * Owns asking a real Prometheus what every panel, variable and alert asks: `deploy/check.sh --panels`. Starts servers, two workers, a coordinator
 * and a compactor with an archive, lets workflows run, kills a worker, and evaluates every expression. Exits with 1 when one can't be
 * evaluated, or has no data and is not named below; when a target can't be scraped; or when no exemplar names a trace. Needs `prometheus`
 * (Debian's package).
 */

import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { configFromEnv, loadDefinitions, openCluster } from '@tidemark/host';
import { eventually } from '@tidemark/testkit/eventually';
import { startService } from '@tidemark/testkit/processes';
import { freePort, startClusterServers } from '@tidemark/testkit/servers';
import { asked as askedOf } from '../../scripts/dashboards/panel.ts';
import { dashboards } from '../../scripts/dashboards.ts';

const ROOT = path.resolve(import.meta.dirname, '../..');
const WORKFLOWS_COUNT = 40;
const WAIT_MS = 180_000;
/** How long there is something to see before it is asked for, in milliseconds: a few scrapes. */
const SEEN_MS = 30_000;

/** Metrics of things that don't happen here, by their whole names: nothing to show is right. */
const QUIET = new Set([
  // Nothing is wrong: no event is rejected, nobody waits for a person, no try fails.
  ...[
    'tidemark_events_rejected_total',
    'tidemark_workflows_parked',
    'tidemark_step_retries_total',
    'effect_validation_failures_total',
    'tidemark_secrets_found_total',
  ],
  // Nobody asks anything over HTTP.
  ...['tidemark_workflow_ids_taken_total', 'tidemark_request_bodies_refused_total', 'tidemark_requests_changed_total'],
  // No session is recalled, and traces are sent nowhere.
  ...[
    'tidemark_session_recall_entries_total',
    'tidemark_trace_spans_dropped_total',
    'tidemark_recall_arm_workflows_total',
  ],
  // Its workflows ask no model.
  ...['tidemark_phase_prompts_total', 'tidemark_phase_prompt_tokens_total', 'tidemark_model_answers_unusable_total'],
  ...['tidemark_model_calls_total', 'tidemark_model_call_seconds_bucket', 'tidemark_model_tokens_total'],
  'tidemark_model_cost_micros_total',
  // The compactor's first round has nothing that is old enough.
  ...[
    'tidemark_storage_bytes',
    'tidemark_storage_workflow_bytes',
    'tidemark_segments_written_total',
    'tidemark_segment_bytes_total',
    'tidemark_archived_bytes_total',
  ],
]);
const isOfQuiet = (expr: string): boolean => (expr.match(/\b\w+\b/g) ?? []).some((word) => QUIET.has(word));

const concrete = (expr: string): string =>
  askedOf(expr)
    .replaceAll('$__rate_interval', '20s')
    .replaceAll('$workflow', '')
    .replaceAll(/\$\w+/g, '.*')
    .replaceAll('[6h]', '[20s]');

const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-panels-'));
const servers = await startClusterServers();
const env: Record<string, string> = {
  TIDEMARK_KAFKA_BROKERS: servers.kafka.address,
  TIDEMARK_REDIS_URL: servers.redis.address,
  TIDEMARK_POSTGRES_URL: servers.postgres.address,
  TIDEMARK_TOPIC: 'panels',
  TIDEMARK_ENCRYPTION: 'off',
  TIDEMARK_AUTH: 'off',
  TIDEMARK_HOT: '1s',
  TIDEMARK_ARCHIVE_URL: pathToFileURL(path.join(folder, 'archive')).href,
  TIDEMARK_WORKFLOWS: './examples/patterns/src/loop.ts,./examples/worker-image/src/greeting.ts',
};
// Takes every trace, and keeps none: exemplars name those that are sent.
const sink = createServer((request, response) => void request.resume().on('end', () => response.end('{}')));
await new Promise<void>((resolve) => sink.listen(0, '127.0.0.1', resolve));
env.OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(sink.address() as AddressInfo).port}`;
env.OTEL_METRICS_EXPORTER = 'none';
const ends: (() => Promise<unknown>)[] = [
  async () => void sink.close(),
  () => servers.stop(),
  () => rm(folder, { recursive: true, force: true }),
];

try {
  const targets: { readonly service: string; readonly port: number }[] = [];
  const start = async (service: 'coordinator' | 'worker' | 'compactor') => {
    const port = await freePort();
    targets.push({ service, port });
    const own = { ...env, TIDEMARK_METRICS_LISTEN: `127.0.0.1:${port}` };
    const process = await startService(service, own);
    ends.unshift(() => process.kill());
    return process;
  };
  await start('coordinator');
  const doomed = await start('worker');
  await start('worker');
  await start('compactor');

  const port = await freePort();
  const scraped = targets.map(({ service, port: at }) => ({ targets: [`127.0.0.1:${at}`], labels: { service } }));
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [path.join(ROOT, 'deploy/prometheus/rules.yml')],
    scrape_configs: [{ job_name: 'tidemark', static_configs: scraped }],
  };
  // JSON is YAML.
  await writeFile(path.join(folder, 'prometheus.yml'), JSON.stringify(config));
  const child = spawn(
    'prometheus',
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--enable-feature=exemplar-storage',
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  ends.unshift(async () => void child.kill());
  const ask = async (
    address: string,
  ): Promise<{
    status: string;
    error?: string;
    data: {
      result: unknown[];
      groups: { rules: { health: string; name: string; lastError?: string }[] }[];
      activeTargets: { scrapeUrl: string; health: string; lastError: string }[];
    };
  }> => (await (await fetch(`http://127.0.0.1:${port}/api/v1/${address}`)).json()) as never;
  await eventually(async () => (await ask('query?query=up')).status === 'success', { timeoutMs: WAIT_MS });

  const host = await openCluster(configFromEnv(env));
  ends.unshift(() => host.close());
  const definitions = await loadDefinitions(env.TIDEMARK_WORKFLOWS!.split(','), ROOT);
  const greeting = definitions.find(({ name }) => name === 'greeting')!;
  const names = Array.from({ length: 200 }, (_, at) => `n${at}`);
  const seenMs = performance.now() + SEEN_MS;
  let started = 0;
  while (performance.now() < seenMs) {
    // The first ends at once, the others do not.
    await Promise.all(
      Array.from({ length: WORKFLOWS_COUNT / 4 }, (_, at) =>
        host.client.start(greeting, { names: at === 0 ? ['n'] : names } as never, { id: `g${started++}` }),
      ),
    );
    if (started === WORKFLOWS_COUNT) await doomed.kill();
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }

  let empty = 0;
  let failed = 0;
  let asked = 0;
  for (const { title, rows } of Object.values(dashboards)) {
    for (const panel of rows.flatMap(({ panels }) => panels)) {
      if (!('queries' in panel)) continue;
      for (const { expr } of panel.queries) {
        asked++;
        const { status, error, data } = await ask(`query?query=${encodeURIComponent(concrete(expr))}`);
        if (status === 'success' && data.result.length > 0) continue;
        const isQuiet = status === 'success' && isOfQuiet(expr);
        console.log(
          `${isQuiet ? 'quiet ' : 'FAILED'} ${title} / ${panel.title}: ${error ?? 'no data'}: ${concrete(expr)}`,
        );
        if (isQuiet) empty++;
        else failed++;
      }
    }
  }
  const rules = (await ask('rules')).data.groups.flatMap(({ rules: each }) => each);
  for (const { name, health, lastError } of rules) {
    if (health === 'ok') continue;
    console.log(`FAILED ${name}: ${lastError}`);
    failed++;
  }
  for (const { scrapeUrl, health, lastError } of (await ask('targets')).data.activeTargets) {
    // That of the worker that was killed is to be down, or its alert would never fire.
    if ((health === 'up') !== scrapeUrl.includes(`:${targets[1]!.port}/`)) continue;
    console.log(`FAILED the target ${scrapeUrl} is ${health}: ${lastError}`);
    failed++;
  }
  const now = Date.now() / 1_000;
  const exemplars = await ask(
    `query_exemplars?query=checkpoint_commit_latency_seconds_bucket&start=${now - 600}&end=${now}`,
  );
  const traced = exemplars.data as unknown as { exemplars: { labels: { trace_id?: string } }[] }[];
  const traces = new Set(traced.flatMap((each) => each.exemplars.map(({ labels }) => labels.trace_id)));
  if (traces.size === 0 || traces.has(undefined)) {
    console.log(`FAILED exemplars of commits name ${traces.size} traces: ${JSON.stringify(exemplars).slice(0, 300)}`);
    failed++;
  }
  const size = (await readFile(path.join(ROOT, 'deploy/prometheus/rules.yml'), 'utf8')).match(/- alert:/g)?.length;
  if (rules.length !== size) failed++;
  console.log(
    `${asked} expressions of panels: ${asked - empty - failed} with data, ${empty} quiet, ${failed} failed; ${rules.length} alerts evaluated; exemplars of ${traces.size} traces; ${started} workflows started.`,
  );
  process.exitCode = failed === 0 ? 0 : 1;
} finally {
  for (const end of ends) await end();
}
process.exit();
