/** Metrics over OTLP: the same instruments, names and numbers as Prometheus is told, to a collector that decodes the wire by itself. */

import { systemClock } from '@tidemark/runtime';
import { openPrometheus } from '@tidemark/telemetry';
import { type OtlpReceiver, startOtlpReceiver } from '@tidemark/testkit/otlp-receiver';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MetricsExport, metricsSettings } from './metrics-export.ts';

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(() => receiver.close());

const trace = `00-${'ab'.repeat(16)}-${'cd'.repeat(8)}-01`;

function measured() {
  const registry = openPrometheus();
  const { telemetry } = registry;
  telemetry.count('steps_total', 2, { step: 'pay', workflow: 'w-1' }, trace);
  telemetry.count('steps_total', 1, { step: 'ship' });
  telemetry.gauge('projection_lag_events', 7);
  telemetry.observe('checkpoint_commit_latency_seconds', 0.003, undefined, trace);
  telemetry.observe('checkpoint_commit_latency_seconds', 0.004);
  telemetry.observe('checkpoint_commit_latency_seconds', 90);
  return registry;
}

async function sent(env: Readonly<Record<string, string>>, source = measured()) {
  const errors: unknown[] = [];
  // A status that may pass is tried again by the exporter, within the time of one request.
  const base = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, OTEL_EXPORTER_OTLP_TIMEOUT: '1000' };
  const settings = metricsSettings({ ...base, ...env })!;
  const exporting = new MetricsExport({ settings, source, clock: systemClock, onError: (error) => errors.push(error) });
  await exporting.close();
  return errors;
}

describe('what a collector gets', () => {
  test.each(['http/protobuf', 'http/json'])('in %s is what Prometheus is told', async (protocol) => {
    const errors = await sent({
      OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
      OTEL_SERVICE_NAME: 'workers',
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'x-key=a%20b',
    });
    expect(errors).toEqual([]);
    expect(receiver.headers[0]).toMatchObject({ 'x-key': 'a b' });
    const { metrics } = receiver;
    // Without what is none of its labels: each value would be a series.
    expect(metrics.filter(({ name }) => name === 'tidemark_steps_total')).toMatchObject([
      { kind: 'sum', attributes: { step: 'pay' }, value: 2, temporality: 2, isMonotonic: true },
      { kind: 'sum', attributes: { step: 'ship' }, value: 1, temporality: 2, isMonotonic: true },
    ]);
    expect(metrics.find(({ name }) => name === 'tidemark_projection_lag_events')).toMatchObject({
      kind: 'gauge',
      value: 7,
    });
    const latency = metrics.find(({ name }) => name === 'checkpoint_commit_latency_seconds')!;
    expect(latency).toMatchObject({ kind: 'histogram', unit: 's', count: 3, temporality: 2 });
    expect(latency.value).toBeCloseTo(90.007);
    expect(latency.buckets).toHaveLength(latency.bounds.length + 1);
    expect(latency.buckets[latency.bounds.indexOf(0.005)]).toBe(2);
    expect(latency.buckets.at(-1)).toBe(1);
    expect(BigInt(latency.timeNs)).toBeGreaterThanOrEqual(BigInt(latency.startNs));
    expect(latency.resource).toMatchObject({ 'service.name': 'workers' });
    expect(latency.resource['service.instance.id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('comes from time to time, and counts on', async () => {
    const source = measured();
    const settings = metricsSettings({
      OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
      OTEL_METRIC_EXPORT_INTERVAL: '20',
    })!;
    const exporting = new MetricsExport({ settings, source, clock: systemClock, onError: () => {} });
    const steps = () =>
      receiver.metrics.filter(({ attributes }) => attributes.step === 'ship').map(({ value }) => value);
    await expect.poll(() => steps().at(-1)).toBe(1);
    source.telemetry.count('steps_total', 4, { step: 'ship' });
    await expect.poll(() => steps().at(-1)).toBe(5);
    await exporting.close();
    const { startNs, resource } = receiver.metrics[0]!;
    for (const metric of receiver.metrics) expect(metric).toMatchObject({ startNs, resource });
  });

  test('is nothing where nothing was measured', async () => {
    expect(await sent({}, openPrometheus())).toEqual([]);
    expect(receiver.requestCount).toBe(0);
  });

  test('is told when it can not be sent, and nobody waits', async () => {
    receiver.answer(503);
    expect(await sent({})).toMatchObject([{ code: 'collector-away' }]);
    receiver.answer(400);
    expect(await sent({})).toMatchObject([{ code: 'collector-refused' }]);
  });
});

describe('settings', () => {
  const endpoint = 'http://c:4318';

  test.each([
    [{}, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }, 'http://c:4318/v1/metrics'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/v1/traces` }, 'http://c:4318/v1/metrics'],
    [{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: 'http://m/x' }, 'http://m/x'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_METRICS_EXPORTER: 'prometheus,otlp' }, 'http://c:4318/v1/metrics'],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_METRICS_EXPORTER: 'prometheus' }, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_METRICS_EXPORTER: 'none' }, undefined],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: endpoint }, undefined],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: 'true' }, undefined],
  ])('of %j send to %s', (env, url) => {
    expect(metricsSettings(env)?.collector.url).toBe(url);
  });

  test.each([
    ['OTEL_METRICS_EXPORTER', 'console'],
    ['OTEL_METRIC_EXPORT_INTERVAL', 'soon'],
    ['OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE', 'delta'],
    ['OTEL_EXPORTER_OTLP_METRICS_ENDPOINT', 'ftp://x'],
  ])('%s=%s is refused by name', (name, value) => {
    expect(() => metricsSettings({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, [name]: value })).toThrow(name);
  });
});
