/**
 * Owns the Telemetry port as a Prometheus registry: every metric of the port with its declared labels, and exemplars that name a trace. The
 * text is OpenMetrics, since older formats have no exemplars. Other exporters (OTLP) read the same registry.
 */

import { invariant } from '@tidemark/core';
import type { Attributes, MetricName, Telemetry } from '@tidemark/ports';
import { noTelemetry } from '@tidemark/ports';
import { Counter, Gauge, Histogram, type OpenMetricsContentType, Registry } from 'prom-client';
import {
  exposedName,
  INSTRUMENTS,
  type InstrumentKind,
  OPEN_LABELS,
  SECONDS_BOUNDARIES,
  SERIES_MAX_COUNT,
} from './instruments.ts';
import { type MetricSnapshot, snapshotOf } from './metric-snapshot.ts';

export interface PrometheusRegistry {
  readonly telemetry: Telemetry;
  readonly contentType: string;
  /** All metrics, as a scrape receives them. */
  text(): Promise<string>;
  /** All measurements so far, for other exporters. */
  snapshot(): Promise<readonly MetricSnapshot[]>;
}

export function openPrometheus(): PrometheusRegistry {
  const registry = new Registry<OpenMetricsContentType>();
  registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  const metrics = new Map((Object.keys(INSTRUMENTS) as MetricName[]).map((name) => [name, metricOf(name, registry)]));
  const found = <T>(name: MetricName, kind: InstrumentKind): T => {
    invariant(INSTRUMENTS[name]?.kind === kind, `the metric ${name} is not a ${kind}`);
    return metrics.get(name) as T;
  };
  const series = new Map<MetricName, Set<string>>();
  /** Beyond so many series of a metric, what its open labels say is `other`. */
  const bounded = (name: MetricName, attributes: Attributes | undefined): Record<string, string> => {
    const labels = labelsOf(name, attributes);
    if (!INSTRUMENTS[name].labels.some((label) => OPEN_LABELS.has(label))) return labels;
    const known = series.get(name) ?? new Set();
    series.set(name, known);
    const key = JSON.stringify(labels);
    if (known.has(key) || known.size < SERIES_MAX_COUNT) known.add(key);
    else for (const label of Object.keys(labels)) if (OPEN_LABELS.has(label)) labels[label] = 'other';
    return labels;
  };
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    // By the port's names: a scrape renames counters in the registry.
    snapshot: async () => {
      const measured = Array.from(metrics, async ([name, metric]) => ({ name, values: (await metric.get()).values }));
      return snapshotOf(await Promise.all(measured));
    },
    telemetry: {
      ...noTelemetry,
      count(name, value, attributes, trace) {
        if (value === 0) return;
        found<Counter>(name, 'counter').inc({ value, labels: bounded(name, attributes), ...exemplarOf(trace) });
      },
      observe(name, value, attributes, trace) {
        found<Histogram>(name, 'histogram').observe({ value, labels: bounded(name, attributes), ...exemplarOf(trace) });
      },
      gauge(name, value, attributes) {
        found<Gauge>(name, 'gauge').set(labelsOf(name, attributes), value);
      },
    },
  };
}

function metricOf(name: MetricName, registry: Registry<OpenMetricsContentType>): Counter | Histogram | Gauge {
  const { kind, description, labels } = INSTRUMENTS[name];
  const given = {
    name: exposedName(name),
    help: description,
    labelNames: [...labels],
    registers: [registry as unknown as Registry],
  };
  if (kind === 'counter') return new Counter({ ...given, enableExemplars: true });
  if (kind === 'gauge') return new Gauge(given);
  return new Histogram({ ...given, buckets: [...SECONDS_BOUNDARIES], enableExemplars: true });
}

/** Keeps the metric's own labels alone: any other attribute would be a time series for each value. */
function labelsOf(name: MetricName, attributes: Attributes = {}): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const label of INSTRUMENTS[name].labels) {
    const value = attributes[label];
    if (value !== undefined) labels[label] = String(value);
  }
  return labels;
}

function exemplarOf(trace: string | undefined) {
  // `00-TRACE-SPAN-01`; the flag says that the trace is sampled.
  const [, trace_id, span_id, flags] = trace?.split('-') ?? [];
  if (trace_id === undefined || span_id === undefined || flags !== '01') return {};
  return { exemplarLabels: { trace_id, span_id } };
}
