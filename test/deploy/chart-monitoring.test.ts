/** What the chart gives to the Prometheus operator, as helm itself renders it: what is scraped, and the alerts on that. */

import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { chartRules } from '../../scripts/dashboards.ts';
import { readProjectFile } from './deployment.ts';
import { helm, named, rendered } from './helm.ts';

const refusal = (over: object) => expect(rendered('own-servers', over)).rejects;
const metrics = { settings: { TIDEMARK_METRICS_LISTEN: '0.0.0.0:9464' } };
const podMonitor = { enabled: true };
const rules = { enabled: true };

beforeAll(() => helm(), 180_000);

describe('metrics', () => {
  test('of all pods are scraped where they answer', async () => {
    expect(named(await rendered('pools'), 'PodMonitor', '').metadata.labels).toMatchObject({ release: 'prometheus' });
    await refusal({ monitoring: { podMonitor } }).toThrow(/TIDEMARK_METRICS_LISTEN is not set/);
  });
});

describe('alerts', () => {
  interface Rule {
    readonly alert: string;
    readonly expr: string;
    readonly labels: Readonly<Record<string, string>>;
  }
  const rulesOf = async (monitoring: object): Promise<readonly Rule[]> =>
    named(await rendered('own-servers', { ...metrics, monitoring }), 'PrometheusRule', '').spec.groups[0].rules;
  const there: readonly Rule[] = parse(readProjectFile('deploy/prometheus/rules.yml')).groups[0].rules;
  /** Without what makes them those of one installation. */
  const bare = ({ labels: { installation: _, ...labels }, expr, ...rule }: Rule) => ({
    ...rule,
    labels,
    expr: expr.replaceAll(/installation(?:="agents\/trial"|=~"\.\*"),?/g, '').replaceAll('{}', ''),
  });

  test('are those of deploy/prometheus', async () => {
    const [file, text] = chartRules();
    // After a change: npm run dashboards
    expect(readProjectFile('helm/tidemark/files/rules.yml'), file).toBe(text);
    for (const monitoring of [{ rules }, { rules, podMonitor }])
      expect((await rulesOf(monitoring)).map(bare)).toEqual(there.map(bare));
  });

  test('are of what its own PodMonitor has scraped, and say so', async () => {
    const manifests = await rendered('own-servers', { ...metrics, monitoring: { rules, podMonitor } });
    const { relabelings } = named(manifests, 'PodMonitor', '').spec.podMetricsEndpoints[0];
    expect(relabelings).toContainEqual({ targetLabel: 'installation', replacement: 'agents/trial' });
    for (const { alert, expr, labels } of await rulesOf({ rules, podMonitor })) {
      expect([alert, labels.installation]).toEqual([alert, 'agents/trial']);
      const selectors = expr.match(/\{[^}]*\}/g) ?? [];
      expect([alert, selectors.length > 0]).toEqual([alert, true]);
      for (const selector of selectors) expect(selector).toContain('installation="agents/trial"');
    }
  });

  test('ask of all where nothing of the chart labels what is scraped', async () => {
    for (const { expr } of await rulesOf({ rules })) {
      expect(expr).toContain('installation=~".*"');
      expect(expr).not.toContain('installation="');
    }
  });
});
