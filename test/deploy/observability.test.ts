/** Dashboards and alerts speak of metrics that there are, with labels that they have; each alert has a place in the runbook that exists. */

import { readFileSync } from 'node:fs';
import { exposedName, INSTRUMENTS as OF_PORT, openPrometheus } from '@tidemark/telemetry';
import { describe, expect, test } from 'vitest';
import { dashboardFiles } from '../../scripts/dashboards.ts';
import { blockOf, filesUnder, readProjectFile } from './deployment.ts';

/** By the names that a scrape has. */
const INSTRUMENTS = Object.fromEntries(
  Object.entries(OF_PORT).map(([name, instrument]) => [exposedName(name as keyof typeof OF_PORT), instrument]),
);

/** What Prometheus has by itself. */
const ITS_OWN = new Set(['up', 'ALERTS']);
const LABELS_OF_ALL = ['service', 'job', 'instance', 'le', 'alertname', 'alertstate', 'installation'];
/** Words of PromQL that are no metrics. */
const WORDS = new Set(
  'sum max min count by without rate increase deriv predict_linear histogram_quantile topk absent last_over_time max_over_time vector or and unless offset on ignoring label_values'.split(
    ' ',
  ),
);

/** Metrics that an expression names, by the metrics of INSTRUMENTS where they belong to a histogram. */
function metricsIn(expr: string): readonly string[] {
  const bare = expr
    .replaceAll(/"[^"]*"/g, '""')
    .replaceAll(/\{[^}]*\}/g, '')
    .replaceAll(/\b(?:by|without|on|ignoring) \([^)]*\)/g, '')
    .replaceAll(/\[[^\]]*\]/g, '')
    .replaceAll(/\$\w+|\boffset \w+/g, '');
  return [...bare.matchAll(/\b[a-zA-Z_]\w*/g)].map(([name]) => name).filter((name) => !WORDS.has(name));
}

const baseOf = (name: string): string => {
  const base = name.replace(/_(?:bucket|sum|count)$/, '');
  return base in INSTRUMENTS && INSTRUMENTS[base]!.kind === 'histogram' ? base : name;
};

/** Labels that it selects or groups by. */
function labelsIn(expr: string): readonly string[] {
  const selected = [...expr.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"/g)].map(([, label]) => label!);
  const grouped = [...expr.matchAll(/\b(?:by|without) \(([^)]*)\)/g)].flatMap(([, labels]) => labels!.split(/\s*,\s*/));
  return [...selected, ...grouped];
}

function expectTrue(where: string, expr: string): void {
  const metrics = metricsIn(expr);
  expect([where, metrics.length]).not.toEqual([where, 0]);
  const known = new Set(LABELS_OF_ALL);
  for (const name of metrics) {
    if (ITS_OWN.has(name)) continue;
    const base = baseOf(name);
    expect([where, name, base in INSTRUMENTS]).toEqual([where, name, true]);
    for (const label of INSTRUMENTS[base]!.labels) known.add(label);
  }
  for (const label of labelsIn(expr)) expect([where, label, known.has(label)]).toEqual([where, label, true]);
}

test('a wrong metric and a wrong label would be found', () => {
  expect(() => expectTrue('x', 'sum(rate(stepps_total[5m]))')).toThrow();
  expect(() => expectTrue('x', 'sum by (stepp) (rate(tidemark_steps_total[5m]))')).toThrow();
  expect(() => expectTrue('x', 'tidemark_steps_total{stepp="a"}')).toThrow();
  expect(() => expectTrue('x', 'tidemark_steps_total_bucket')).toThrow();
  expectTrue('x', 'histogram_quantile(0.9, sum by (le) (rate(recovery_duration_seconds_bucket[$__rate_interval])))');
});

test('what is scraped has the names that the instruments have', async () => {
  const text = await openPrometheus().text();
  for (const [name, { kind }] of Object.entries(INSTRUMENTS)) {
    // OpenMetrics names a counter without its ending.
    const shown = kind === 'counter' ? name.replace(/_total$/, '') : name;
    expect(text).toMatch(new RegExp(`^# TYPE (?:${name}|${shown}) ${kind}$`, 'm'));
  }
});

describe('Grafana', () => {
  test.each(dashboardFiles())('%s is as npm run dashboards writes it', (file, text) => {
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  interface Shown {
    readonly title: string;
    readonly type: string;
    readonly id: number;
    readonly description?: string;
    readonly targets?: readonly { readonly expr?: string }[];
    readonly fieldConfig?: { readonly defaults: { readonly unit?: string } };
  }

  test.each(dashboardFiles())('%s: every panel asks for what there is', (_, text) => {
    const { panels, templating } = JSON.parse(text) as {
      readonly panels: readonly Shown[];
      readonly templating: { readonly list: readonly { readonly name: string; readonly definition?: string }[] };
    };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const variables = templating.list.map(({ name }) => name);
    for (const { definition } of templating.list)
      if (definition !== undefined) expectTrue('variable', definition.replace(/, \w+\)$/, ')'));
    for (const { title, type, description, targets = [], fieldConfig } of panels) {
      if (type === 'row') continue;
      expect(description?.length ?? 0, title).toBeGreaterThan(8);
      for (const { expr } of targets) {
        if (expr === undefined) continue;
        expectTrue(title, expr);
        expect(fieldConfig?.defaults.unit, title).toBeTruthy();
        for (const [, name] of expr.matchAll(/\$(\w+)/g)) expect(['__rate_interval', ...variables]).toContain(name);
      }
    }
  });

  test('every metric is on one of them', () => {
    const all = dashboardFiles()
      .map(([, text]) => text)
      .join('');
    const missing = Object.keys(INSTRUMENTS).filter(
      (name) => !new RegExp(`\\b${name}(?:_bucket|_sum|_count)?\\b`).test(all),
    );
    expect(missing).toEqual([]);
  });

  test('their sources of data are provided', () => {
    const sources = readProjectFile('deploy/grafana/provisioning/datasources/tidemark.yaml');
    for (const uid of ['prometheus', 'jaeger']) expect(sources).toContain(`uid: ${uid}`);
    const compose = readProjectFile('docker-compose.yml');
    for (const [folder, at] of [
      ['provisioning', 'deploy/grafana/provisioning'],
      ['dashboards', 'helm/tidemark/files/dashboards'],
    ])
      expect(compose).toContain(`./${at}:/etc/grafana/${folder}:ro`);
  });
});

describe('deploy/prometheus', () => {
  const text = readProjectFile('deploy/prometheus/rules.yml');
  const rules = text.split(/^ {6}- (?=alert: )/m).slice(1);
  const runbook = readProjectFile('docs/runbook.md');
  const anchors = new Set(
    [...runbook.matchAll(/^## (.+)$/gm)].map(([, title]) =>
      title!
        .toLowerCase()
        .replaceAll(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    ),
  );
  const nameOf = (rule: string): string => /^alert: (\w+)$/m.exec(rule)![1]!;
  const exprOf = (rule: string): string => /expr: (?:>-\n)?([\s\S]*?)\n {8}(?:for|labels):/.exec(rule)![1]!;

  test('all alerts are read', () => expect(rules.length).toBe(text.match(/- alert:/g)?.length));

  test.each(rules.map((rule) => [nameOf(rule), rule]))(
    '%s: its metrics exist, and the runbook tells what to do',
    (name, rule) => {
      expectTrue(name, exprOf(rule));
      expect(rule).toMatch(/severity: (?:warning|critical)/);
      expect(rule).toMatch(/summary: .{20,}/);
      const anchor = /runbook_url: \S+\/docs\/runbook\.md#(\S+)/.exec(rule)?.[1];
      expect(anchors).toContain(anchor);
    },
  );

  test('each alert is in the runbook by its name, and fires in a test', () => {
    const tests = readProjectFile('deploy/prometheus/test/rules.test.yml');
    for (const rule of rules) {
      expect(runbook).toContain(`\`${nameOf(rule)}\``);
      expect(tests).toMatch(new RegExp(`\\b${nameOf(rule)}\\b`));
    }
  });

  test('the services are asked where Compose has them answer', () => {
    const port = /port: (\d+)/.exec(readProjectFile('deploy/prometheus/prometheus.yml'))?.[1];
    expect(readProjectFile('docker-compose.yml')).toContain(`TIDEMARK_METRICS_LISTEN: 0.0.0.0:${port}`);
  });
});

test('every image that Compose runs has a version', () => {
  const services = blockOf(readProjectFile('docker-compose.yml'), 'services');
  const images = [...services.matchAll(/^ +image: (\S+)$/gm)].map(([, image]) => image!);
  expect(images.length).toBeGreaterThan(7);
  for (const image of images) expect(image).toMatch(/:v?\d+/);
  expect(filesUnder('deploy/otel').length).toBe(2);
});
