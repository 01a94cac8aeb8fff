/** Owns spans and metrics in the form that OpenTelemetry's exporters take. Ids, times and attributes pass unchanged. Pure. */

import type { HrTime } from '@opentelemetry/api';
import type { Resource } from '@opentelemetry/resources';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { MetricPoint, MetricSnapshot } from '@tidemark/telemetry';
import type { TraceSpan } from './span.ts';

const SCOPE = { name: 'tidemark', version: '1' } as const;
/** Numbers of `SpanKind` and `SpanStatusCode`. */
const KINDS = { internal: 0, client: 2 } as const;
const UNSET = { code: 0 } as const;
const ERROR = 2;
/** The W3C flag: the span is sampled. */
const SAMPLED = 1;
/**
 * Events have times in milliseconds, so many spans begin and end in the same one. Jaeger takes a span of length zero for one of negative
 * length and changes it. When the same span is sent again, Jaeger no longer recognises it.
 */
const LENGTH_MIN_MS = 0.001;

const hrTime = (ms: number): HrTime => {
  const seconds = Math.floor(ms / 1_000);
  return [seconds, Math.round((ms - seconds * 1_000) * 1e6)];
};

const NO_LENGTH: HrTime = [0, 0];

export function readableSpan(span: TraceSpan, resource: Resource): ReadableSpan {
  const { traceId, spanId, parentSpanId, startMs, endMs, error } = span;
  const inTrace = (id: string) => ({ traceId, spanId: id, traceFlags: SAMPLED });
  const context = inTrace(spanId);
  return {
    name: span.name,
    kind: KINDS[span.kind],
    spanContext: () => context,
    ...(parentSpanId !== null && { parentSpanContext: inTrace(parentSpanId) }),
    startTime: hrTime(startMs),
    endTime: hrTime(endMs > startMs ? endMs : startMs + LENGTH_MIN_MS),
    duration: NO_LENGTH,
    status: error === undefined ? UNSET : { code: ERROR, message: error },
    attributes: span.attributes as ReadableSpan['attributes'],
    links: span.links.map((link) => ({
      context: { traceId: link.traceId, spanId: link.spanId, traceFlags: SAMPLED },
      attributes: link.attributes as ReadableSpan['attributes'],
    })),
    events: span.events.map(({ name, atMs, attributes }) => ({
      ...{ name, time: hrTime(atMs) },
      attributes: attributes as ReadableSpan['attributes'],
    })),
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

export interface MetricTimes {
  /** Start of the counters. */
  readonly startMs: number;
  readonly nowMs: number;
}

/** Numbers of `AggregationTemporality`, `DataPointType` and `ValueType`. */
const CUMULATIVE = 1;
const TYPES = { histogram: 0, gauge: 2, counter: 3 } as const;
const DOUBLE = 1;

/** Names are exactly those of Prometheus; counters and histograms are cumulative. */
export function resourceMetrics(
  metrics: readonly MetricSnapshot[],
  resource: Resource,
  { startMs, nowMs }: MetricTimes,
): ResourceMetrics {
  const times = { startTime: hrTime(startMs), endTime: hrTime(nowMs) };
  const reported = metrics.map(({ name, description, unit, kind, points, bounds }) => ({
    descriptor: { name, description, unit, valueType: DOUBLE },
    aggregationTemporality: CUMULATIVE,
    dataPointType: TYPES[kind],
    ...(kind === 'counter' && { isMonotonic: true }),
    dataPoints: points.map((point) => ({
      ...times,
      attributes: point.labels,
      value: kind === 'histogram' ? histogram(point, bounds) : point.value,
    })),
  }));
  // One shape for all kinds of points, which the exporters' types distinguish.
  return { resource, scopeMetrics: [{ scope: SCOPE, metrics: reported as never }] };
}

const histogram = ({ value, counts = [] }: MetricPoint, bounds: readonly number[]) => ({
  buckets: { boundaries: [...bounds], counts: [...counts] },
  sum: value,
  count: counts.reduce((sum, count) => sum + count, 0),
});
