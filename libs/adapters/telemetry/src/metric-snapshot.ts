/** Owns the values of all metrics at one moment, in a shape that is independent of the registry. Values are cumulative since the process began. */

import type { MetricName } from '@tidemark/ports';
import type { MetricValue } from 'prom-client';
import { exposedName, INSTRUMENTS, type InstrumentKind, SECONDS_BOUNDARIES } from './instruments.ts';

export interface MetricPoint {
  readonly labels: Readonly<Record<string, string>>;
  /** Value of a counter or a gauge; for a histogram the sum of all values. */
  readonly value: number;
  /** For a histogram: the number of values up to each bound and above the one before it; last of those above all. */
  readonly counts?: readonly number[];
}

export interface MetricSnapshot {
  /** As it is exposed. */
  readonly name: string;
  readonly kind: InstrumentKind;
  readonly unit: string;
  readonly description: string;
  /** For a histogram. */
  readonly bounds: readonly number[];
  readonly points: readonly MetricPoint[];
}

/** As `prom-client` returns it. */
type Reported = MetricValue<string> & { readonly metricName?: string };

export interface MeasuredMetric {
  readonly name: MetricName;
  readonly values: readonly Reported[];
}

/** Metrics that were ever measured. */
export function snapshotOf(metrics: readonly MeasuredMetric[]): readonly MetricSnapshot[] {
  return metrics.flatMap(({ name: own, values }) => {
    const { kind, unit, description } = INSTRUMENTS[own];
    const name = exposedName(own);
    const points = kind === 'histogram' ? histogramPoints(name, values) : values.map(plainPoint);
    if (points.length === 0) return [];
    const bounds = kind === 'histogram' ? SECONDS_BOUNDARIES : [];
    return [{ name, kind, unit, description, bounds, points }];
  });
}

const plainPoint = (reported: Reported): MetricPoint => ({
  labels: textsOf(reported.labels),
  value: reported.value,
});

/** Buckets come one by one, each with all values up to its bound. */
function histogramPoints(name: string, values: readonly Reported[]): readonly MetricPoint[] {
  const series = Map.groupBy(values, ({ labels }) => JSON.stringify(textsOf({ ...labels, le: undefined })));
  return [...series].map(([labels, reported]) => {
    const buckets = reported
      .filter(({ metricName }) => metricName === `${name}_bucket`)
      .toSorted((a, b) => boundOf(a) - boundOf(b));
    return {
      labels: JSON.parse(labels) as Readonly<Record<string, string>>,
      value: reported.find(({ metricName }) => metricName === `${name}_sum`)?.value ?? 0,
      counts: buckets.map(({ value }, at) => value - (buckets[at - 1]?.value ?? 0)),
    };
  });
}

const boundOf = ({ labels }: Reported): number => (labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le));

function textsOf(labels: Readonly<Record<string, string | number | undefined>>): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(labels).flatMap(([label, value]) => (value === undefined ? [] : [[label, String(value)]])),
  );
}
