/**
 * Owns spans in the form that collectors take: OTLP as protobuf, and as JSON (opentelemetry-proto v1, trace.proto). Ids, times and attributes
 * pass as they were drawn; nothing is added that would tell one exporter from another. Written here and not by a library's serializer, which
 * takes some 10 µs a span: as much as all else that a live trace costs. Must not send anything.
 */

import { ProtobufWriter } from './protobuf-writer.ts';
import type { SpanAttributes, SpanEvent, SpanLink, TraceSpan } from './span.ts';

export const SCOPE = { name: 'tidemark', version: '1' } as const;
const SERVICE_NAME = 'tidemark';
const KINDS = { internal: 1, client: 3 } as const;
const ERROR = 2;
/** The W3C flag: it is sampled. */
const SAMPLED = 1;
/**
 * Events are told to the millisecond, so much begins and ends in the same one. Jaeger takes a span without length for one of negative
 * length, changes it, and then no longer knows it when it comes again.
 */
const LENGTH_MIN_NS = 1_000;

export type OtlpForm = 'protobuf' | 'json';

/** Whose spans they are: by default the service `tidemark`. */
export const traceResource = (attributes: SpanAttributes = {}): SpanAttributes => ({
  'service.name': SERVICE_NAME,
  ...attributes,
});

/** A span as its request holds it. Small and plain, so that what waits for a collector costs whoever folds nothing. */
export type PackedSpan = Uint8Array;

const writer = new ProtobufWriter();

export function packSpan(span: TraceSpan, form: OtlpForm): PackedSpan {
  if (form === 'json') return Buffer.from(JSON.stringify(jsonSpan(span)));
  // What a span that could not be written left.
  writer.drop();
  writeSpan(writer, span);
  return writer.take();
}

/** One `ExportTraceServiceRequest`. */
export const otlpRequest = (
  spans: readonly PackedSpan[],
  form: OtlpForm,
  resource: SpanAttributes = traceResource(),
): Uint8Array => (form === 'json' ? jsonRequest(spans, resource) : protobuf(spans, resource));

const isLong = ({ startMs, endMs }: TraceSpan): boolean => endMs > startMs;

/** What stands around the spans is written for their length, and they are put between its halves. */
function protobuf(spans: readonly PackedSpan[], resource: SpanAttributes): Uint8Array {
  const length = spans.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const scope = new ProtobufWriter();
  scope.text(2, SCOPE.version);
  scope.text(1, SCOPE.name);
  scope.message(1, 0);
  scope.opening(2, scope.mark + length);
  const owner = new ProtobufWriter();
  writeAttributes(owner, 1, resource);
  owner.message(1, 0);
  const inside = owner.mark + scope.mark + length;
  owner.opening(1, inside);
  return Buffer.concat([owner.take(), scope.take(), ...spans]);
}

function writeSpan(out: ProtobufWriter, span: TraceSpan): void {
  const mark = out.mark;
  out.fixed32(16, SAMPLED);
  if (span.error !== undefined) {
    const status = out.mark;
    out.number(3, ERROR);
    out.text(2, span.error);
    out.message(15, status);
  }
  for (let at = span.links.length - 1; at >= 0; at--) writeLink(out, span.links[at]!);
  for (let at = span.events.length - 1; at >= 0; at--) writeEvent(out, span.events[at]!);
  writeAttributes(out, 9, span.attributes);
  if (isLong(span)) out.time(8, span.endMs);
  else out.time(8, span.startMs, LENGTH_MIN_NS);
  out.time(7, span.startMs);
  out.number(6, KINDS[span.kind]);
  out.text(5, span.name);
  if (span.parentSpanId !== null) out.hex(4, span.parentSpanId);
  out.hex(2, span.spanId);
  out.hex(1, span.traceId);
  out.message(2, mark);
}

function writeLink(out: ProtobufWriter, { traceId, spanId, attributes }: SpanLink): void {
  const mark = out.mark;
  out.fixed32(6, SAMPLED);
  writeAttributes(out, 4, attributes);
  out.hex(2, spanId);
  out.hex(1, traceId);
  out.message(13, mark);
}

function writeEvent(out: ProtobufWriter, { name, atMs, attributes }: SpanEvent): void {
  const mark = out.mark;
  writeAttributes(out, 3, attributes);
  out.text(2, name);
  out.time(1, atMs);
  out.message(11, mark);
}

type Value = SpanAttributes[string];

/** Last to first, as all is written. */
export function writeAttributes(out: ProtobufWriter, field: number, attributes: SpanAttributes): void {
  const names = Object.keys(attributes);
  for (let at = names.length - 1; at >= 0; at--) {
    const name = names[at]!;
    const pair = out.mark;
    writeValue(out, attributes[name]!);
    out.message(2, pair);
    out.text(1, name);
    out.message(field, pair);
  }
}

function writeValue(out: ProtobufWriter, value: Value): void {
  if (typeof value === 'string') out.text(1, value);
  else if (typeof value === 'boolean') out.number(2, value ? 1 : 0);
  else if (typeof value === 'number') {
    if (Number.isSafeInteger(value)) out.number(3, value);
    else out.double(4, value);
  } else {
    const list = out.mark;
    for (let at = value.length - 1; at >= 0; at--) {
      const item = out.mark;
      out.text(1, value[at]!);
      out.message(1, item);
    }
    out.message(5, list);
  }
}

function jsonRequest(spans: readonly PackedSpan[], resource: SpanAttributes): Uint8Array {
  const dependencies = JSON.stringify({
    resourceSpans: [{ resource: { attributes: jsonAttributes(resource) }, scopeSpans: [{ scope: SCOPE, spans: [] }] }],
  });
  const at = dependencies.lastIndexOf('[]') + 1;
  const between = spans.flatMap((span, index) => (index === 0 ? [span] : [COMMA, span]));
  return Buffer.concat([Buffer.from(dependencies.slice(0, at)), ...between, Buffer.from(dependencies.slice(at))]);
}

const COMMA = Buffer.from(',');

export const nanos = (ms: number, addedNs = 0): string => {
  const whole = Math.floor(ms);
  return String(BigInt(whole) * 1_000_000n + BigInt(Math.round((ms - whole) * 1e6) + addedNs));
};

const jsonSpan = (span: TraceSpan) => ({
  traceId: span.traceId,
  spanId: span.spanId,
  ...(span.parentSpanId !== null && { parentSpanId: span.parentSpanId }),
  flags: SAMPLED,
  name: span.name,
  kind: KINDS[span.kind],
  startTimeUnixNano: nanos(span.startMs),
  endTimeUnixNano: isLong(span) ? nanos(span.endMs) : nanos(span.startMs, LENGTH_MIN_NS),
  attributes: jsonAttributes(span.attributes),
  events: span.events.map(({ name, atMs, attributes }) => ({
    timeUnixNano: nanos(atMs),
    name,
    attributes: jsonAttributes(attributes),
  })),
  links: span.links.map(({ traceId, spanId, attributes }) => ({
    ...{ traceId, spanId, flags: SAMPLED },
    attributes: jsonAttributes(attributes),
  })),
  status: span.error === undefined ? {} : { code: ERROR, message: span.error },
});

export const jsonAttributes = (attributes: SpanAttributes) =>
  Object.entries(attributes).map(([key, value]) => ({ key, value: jsonValue(value) }));

/** 64-bit numbers are texts in the JSON of protobuf. */
function jsonValue(value: Value): Readonly<Record<string, unknown>> {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value !== 'number') return { arrayValue: { values: value.map((text) => ({ stringValue: text })) } };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
