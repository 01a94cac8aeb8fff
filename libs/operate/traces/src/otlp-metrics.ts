/**
 * Owns metrics in the form that collectors take: OTLP as protobuf, and as JSON (opentelemetry-proto v1, metrics.proto). Names are those that
 * Prometheus is told, to the letter; counters and histograms are cumulative since the process began. Must not send anything.
 */

import type { Exemplar, MetricPoint, MetricSnapshot } from '@tidemark/telemetry';
import { jsonAttributes, nanos, type OtlpForm, SCOPE, writeAttributes } from './otlp.ts';
import { ProtobufWriter } from './protobuf-writer.ts';
import type { SpanAttributes } from './span.ts';

const CUMULATIVE = 2;

export interface MetricTimes {
  /** Since when counters count. */
  readonly startMs: number;
  readonly nowMs: number;
}

/** One `ExportMetricsServiceRequest`. */
export function otlpMetrics(
  metrics: readonly MetricSnapshot[],
  form: OtlpForm,
  resource: SpanAttributes,
  times: MetricTimes,
): Uint8Array {
  return form === 'json'
    ? Buffer.from(JSON.stringify(jsonRequest(metrics, resource, times)))
    : protobuf(metrics, resource, times);
}

function protobuf(metrics: readonly MetricSnapshot[], resource: SpanAttributes, times: MetricTimes): Uint8Array {
  const out = new ProtobufWriter();
  for (const metric of metrics.toReversed()) writeMetric(out, metric, times);
  const scope = out.mark;
  out.text(2, SCOPE.version);
  out.text(1, SCOPE.name);
  out.message(1, scope);
  // The scope's metrics are all that was written.
  out.message(2, 0);
  const owner = out.mark;
  writeAttributes(out, 1, resource);
  out.message(1, owner);
  out.message(1, 0);
  return out.take();
}

/** Fields of `Metric` that hold the points of each kind. */
const DATA = { gauge: 5, counter: 7, histogram: 9 } as const;

function writeMetric(out: ProtobufWriter, metric: MetricSnapshot, times: MetricTimes): void {
  const { kind, points, bounds } = metric;
  const mark = out.mark;
  const data = out.mark;
  if (kind === 'counter') out.number(3, 1);
  if (kind !== 'gauge') out.number(2, CUMULATIVE);
  for (const point of points.toReversed()) {
    if (kind === 'histogram') writeHistogram(out, point, bounds, times);
    else writeNumber(out, point, times);
  }
  out.message(DATA[kind], data);
  out.text(3, metric.unit);
  out.text(2, metric.description);
  out.text(1, metric.name);
  out.message(2, mark);
}

function writeNumber(out: ProtobufWriter, point: MetricPoint, { startMs, nowMs }: MetricTimes): void {
  const mark = out.mark;
  writeAttributes(out, 7, point.labels);
  for (const exemplar of point.exemplars) writeExemplar(out, 5, exemplar);
  out.double(4, point.value);
  out.time(3, nowMs);
  out.time(2, startMs);
  out.message(1, mark);
}

function writeHistogram(
  out: ProtobufWriter,
  { labels, value, counts = [], exemplars }: MetricPoint,
  bounds: readonly number[],
  { startMs, nowMs }: MetricTimes,
): void {
  const mark = out.mark;
  writeAttributes(out, 9, labels);
  for (const exemplar of exemplars) writeExemplar(out, 8, exemplar);
  // Not packed, which every reader of proto3 takes as well.
  for (const bound of bounds.toReversed()) out.double(7, bound);
  for (const count of counts.toReversed()) out.fixed64(6, count);
  out.double(5, value);
  out.fixed64(4, totalOf(counts));
  out.time(3, nowMs);
  out.time(2, startMs);
  out.message(1, mark);
}

function writeExemplar(out: ProtobufWriter, field: number, { traceId, spanId, value, atMs }: Exemplar): void {
  const mark = out.mark;
  out.hex(5, traceId);
  out.hex(4, spanId);
  out.double(3, value);
  out.time(2, atMs);
  out.message(field, mark);
}

const totalOf = (counts: readonly number[]): number => counts.reduce((sum, count) => sum + count, 0);

const jsonRequest = (metrics: readonly MetricSnapshot[], resource: SpanAttributes, times: MetricTimes) => ({
  resourceMetrics: [
    {
      resource: { attributes: jsonAttributes(resource) },
      scopeMetrics: [{ scope: SCOPE, metrics: metrics.map((metric) => jsonMetric(metric, times)) }],
    },
  ],
});

function jsonMetric({ name, description, unit, kind, points, bounds }: MetricSnapshot, times: MetricTimes) {
  const about = { name, description, unit };
  const dataPoints = points.map((point) => jsonPoint(point, times, kind === 'histogram' ? bounds : undefined));
  if (kind === 'gauge') return { ...about, gauge: { dataPoints } };
  if (kind === 'histogram') return { ...about, histogram: { dataPoints, aggregationTemporality: CUMULATIVE } };
  return { ...about, sum: { dataPoints, aggregationTemporality: CUMULATIVE, isMonotonic: true } };
}

function jsonPoint(
  { labels, value, exemplars, counts = [] }: MetricPoint,
  { startMs, nowMs }: MetricTimes,
  bounds: readonly number[] | undefined,
) {
  return {
    attributes: jsonAttributes(labels),
    startTimeUnixNano: nanos(startMs),
    timeUnixNano: nanos(nowMs),
    exemplars: exemplars.map(({ traceId, spanId, value: asDouble, atMs }) => ({
      ...{ traceId, spanId, asDouble },
      timeUnixNano: nanos(atMs),
    })),
    ...(bounds === undefined
      ? { asDouble: value }
      : { count: String(totalOf(counts)), sum: value, bucketCounts: counts.map(String), explicitBounds: bounds }),
  };
}
