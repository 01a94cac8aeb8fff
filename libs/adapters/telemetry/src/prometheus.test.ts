/** The metrics endpoint's text: F1's names and labels to the letter, and exemplars that lead to a trace. */

import type { MetricName } from '@tidemark/ports';
import { describe, expect, test } from 'vitest';
import { exposedName, INSTRUMENTS, SERIES_MAX_COUNT } from './instruments.ts';
import { openPrometheus } from './prometheus.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = `00-${TRACE}-b7ad6b7169203331-01`;

describe('requirement F1', () => {
  test.each<[MetricName, string, readonly string[]]>([
    ['checkpoint_commit_latency_seconds', 'histogram', []],
    ['checkpoint_buffer_drain_latency_seconds', 'histogram', []],
    ['recovery_attempts_total', 'counter', ['action']],
    ['recovery_duration_seconds', 'histogram', []],
    ['effect_validation_failures_total', 'counter', ['operation']],
    ['compensation_depth_current', 'gauge', []],
    ['memory_scope_violations_total', 'counter', []],
  ])('%s is a %s with the labels %j', (name, kind, labels) => {
    expect(INSTRUMENTS[name]).toMatchObject({ kind, labels });
    expect(exposedName(name)).toBe(name);
  });
});

describe('the text', () => {
  test('is OpenMetrics, with every metric of the port, and ends as it must', async () => {
    const registry = openPrometheus();
    expect(registry.contentType).toMatch(/^application\/openmetrics-text/);
    const text = await registry.text();
    for (const [own, { kind }] of Object.entries(INSTRUMENTS)) {
      const name = exposedName(own as MetricName);
      if (name.endsWith('_total')) expect(kind).toBe('counter');
      if (name.endsWith('_seconds')) expect(kind).toBe('histogram');
      // The family of a counter has no suffix in OpenMetrics.
      expect(text).toContain(`# TYPE ${kind === 'counter' ? name.replace(/_total$/, '') : name} ${kind}`);
    }
    expect(text.endsWith('# EOF\n')).toBe(true);
  });

  test('has values, declared labels alone, and exemplars of traces that are kept', async () => {
    const { telemetry, text } = openPrometheus();
    telemetry.count('recovery_attempts_total', 2, { action: 'replay', operation: 'card.charge' }, PARENT);
    telemetry.count('steps_total', 1, { step: 'go' }, PARENT.replace(/01$/, '00'));
    telemetry.count('step_retries_total', 0, { step: 'go' });
    telemetry.observe('checkpoint_commit_latency_seconds', 0.004, undefined, PARENT);
    telemetry.gauge('projection_lag_events', 9, { partition: 1 });
    const lines = (await text()).split('\n');
    const exemplar = `# {trace_id="${TRACE}",span_id="b7ad6b7169203331"}`;
    expect(lines).toContainEqual(expect.stringContaining(`recovery_attempts_total{action="replay"} 2 ${exemplar} 2 `));
    expect(lines).toContain('tidemark_steps_total{step="go"} 1');
    expect(lines.filter((line) => line.startsWith('tidemark_step_retries_total'))).toEqual([]);
    expect(lines).toContainEqual(
      expect.stringContaining(`checkpoint_commit_latency_seconds_bucket{le="0.005"} 1 ${exemplar} 0.004 `),
    );
    expect(lines).toContain('tidemark_projection_lag_events 9');
  });

  test('hostile label values stay in their line', async () => {
    const { telemetry, text } = openPrometheus();
    telemetry.count('effect_validation_failures_total', 1, { operation: 'a"b\\\n# HELP x' });
    expect(await text()).toContain('effect_validation_failures_total{operation="a\\"b\\\\\\n# HELP x"} 1');
  });

  test('values from outside that are too many are one series, and those that are known stay', async () => {
    const { telemetry, text } = openPrometheus();
    const started = (tenant: string): void =>
      telemetry.count('model_tokens_total', 1, { definition: 'd', tenant, model: 'm', kind: 'input' });
    for (let at = 0; at < SERIES_MAX_COUNT + 7; at++) started(`t${at}`);
    started('t0');
    const lines = (await text()).split('\n').filter((line) => line.startsWith('tidemark_model_tokens_total{'));
    expect(lines).toHaveLength(SERIES_MAX_COUNT + 1);
    expect(lines).toContain('tidemark_model_tokens_total{definition="d",tenant="t0",model="m",kind="input"} 2');
    expect(lines).toContain(
      'tidemark_model_tokens_total{definition="other",tenant="other",model="other",kind="input"} 7',
    );
  });

  test('a metric used as what it is not is a bug, said at once', () => {
    const { telemetry } = openPrometheus();
    expect(() => telemetry.count('log_size_bytes', 1)).toThrow(/log_size_bytes is not a counter/);
  });

  test('takes nothing from other exporters: a snapshot after a scrape is what it was before', async () => {
    const { telemetry, text, snapshot } = openPrometheus();
    telemetry.count('steps_total', 1, { step: 'go' });
    telemetry.observe('checkpoint_commit_latency_seconds', 0.004);
    const before = await snapshot();
    const scraped = await text();
    expect(await snapshot()).toEqual(before);
    expect(before.map(({ name }) => name)).toContain('tidemark_steps_total');
    expect((await text()).replace(/^# .*$/gm, '')).toBe(scraped.replace(/^# .*$/gm, ''));
  });
});
