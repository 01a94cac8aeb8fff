/**
 * Owns spans in the form that collectors take: OTLP as protobuf, and as JSON. Ids, times and attributes pass as they were drawn; nothing is
 * added that would tell one exporter from another. Must not send anything.
 */

import { type HrTime, type SpanContext, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer';
import { type Resource, resourceFromAttributes } from '@opentelemetry/resources';
import type { ReadableSpan } from '@opentelemetry/sdk-trace';
import type { SpanAttributes, TraceSpan } from './span.ts';

export const SCOPE = { name: 'tidemark', version: '1' } as const;
export const SERVICE_NAME = 'tidemark';

/** Whose spans they are: by default the service `tidemark`. */
export const traceResource = (attributes: SpanAttributes = {}): Resource =>
  resourceFromAttributes({ 'service.name': SERVICE_NAME, ...attributes } as Record<string, string>);

const MS_PER_S = 1_000;
const NS_PER_MS = 1_000_000;

const hrTime = (ms: number): HrTime => {
  const seconds = Math.floor(ms / MS_PER_S);
  return [seconds, Math.round((ms - seconds * MS_PER_S) * NS_PER_MS)];
};

/**
 * Events are told to the millisecond, so much begins and ends in the same one. Jaeger takes a span without length for one of negative
 * length, changes it, and then no longer knows it when it comes again.
 */
const LENGTH_MIN_NS = 1_000;

const endOf = (startMs: number, endMs: number): HrTime => {
  if (endMs > startMs) return hrTime(endMs);
  const [seconds, nanos] = hrTime(startMs);
  return [seconds, nanos + LENGTH_MIN_NS];
};

const contextOf = (traceId: string, spanId: string): SpanContext => ({
  traceId,
  spanId,
  traceFlags: TraceFlags.SAMPLED,
});

function readable(span: TraceSpan, resource: Resource): ReadableSpan {
  const { traceId, spanId, parentSpanId, name, kind, startMs, endMs, attributes, error, links, events } = span;
  return {
    name,
    kind: kind === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL,
    spanContext: () => contextOf(traceId, spanId),
    ...(parentSpanId !== null && { parentSpanContext: contextOf(traceId, parentSpanId) }),
    startTime: hrTime(startMs),
    endTime: endOf(startMs, endMs),
    duration: endOf(0, endMs - startMs),
    ended: true,
    status: error === undefined ? { code: SpanStatusCode.UNSET } : { code: SpanStatusCode.ERROR, message: error },
    attributes: attributes as ReadableSpan['attributes'],
    links: links.map((link) => ({
      context: contextOf(link.traceId, link.spanId),
      attributes: link.attributes as ReadableSpan['attributes'],
    })),
    events: events.map((event) => ({
      name: event.name,
      time: hrTime(event.atMs),
      attributes: event.attributes as ReadableSpan['attributes'],
    })),
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

export type OtlpForm = 'protobuf' | 'json';

/** One `ExportTraceServiceRequest`. */
export function otlpRequest(spans: readonly TraceSpan[], form: OtlpForm, resource = traceResource()): Uint8Array {
  const serializer = form === 'json' ? JsonTraceSerializer : ProtobufTraceSerializer;
  return serializer.serializeRequest(spans.map((span) => readable(span, resource))) ?? new Uint8Array();
}
