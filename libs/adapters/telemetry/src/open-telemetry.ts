/**
 * Owns the Telemetry port on the OpenTelemetry API. It brings no SDK: without one every call does nothing, at the cost of a call.
 * Attributes pass unchanged (ids and counts). For an error that isn't Tidemark's it records only class, code and stack frames: the message
 * may quote a payload.
 */

import {
  type Attributes as ApiAttributes,
  type Span as ApiSpan,
  type Context,
  type Counter,
  context,
  type Gauge,
  type Histogram,
  isSpanContextValid,
  type Meter,
  metrics,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { invariant, TidemarkError } from '@tidemark/core';
import type { Attributes, MetricName, Span, Telemetry } from '@tidemark/ports';
import { INSTRUMENTS, type InstrumentKind, SECONDS_BOUNDARIES } from './instruments.ts';

export interface TelemetryOptions {
  /** Default: the global tracer named `tidemark`. Register the SDK before opening. */
  readonly tracer?: Tracer;
  readonly meter?: Meter;
}

const SCOPE = 'tidemark';

export function openTelemetry(options: TelemetryOptions = {}): Telemetry {
  const tracer = options.tracer ?? trace.getTracer(SCOPE);
  const instruments = createInstruments(options.meter ?? metrics.getMeter(SCOPE));
  return {
    span(name, attributes, parent) {
      const started = tracer.startSpan(
        name,
        attributes ? { attributes: { ...attributes } } : {},
        parentContext(parent),
      );
      return portSpan(started);
    },
    count(name, value, attributes) {
      instruments.counters.get(assured(name, 'counter'))!.add(value, apiAttributes(attributes));
    },
    observe(name, value, attributes) {
      instruments.histograms.get(assured(name, 'histogram'))!.record(value, apiAttributes(attributes));
    },
    gauge(name, value, attributes) {
      instruments.gauges.get(assured(name, 'gauge'))!.record(value, apiAttributes(attributes));
    },
  };
}

/**
 * Returns the telemetry of a process whose workflows have traces: spans that users' own instrumentation begins in a step or a call are
 * children of its span, if an SDK with a context manager is registered.
 */
export const tracing = (telemetry: Telemetry, traceRatio: number): Telemetry => ({ ...telemetry, traceRatio, within });

const PROBE = Symbol('tidemark probe');
const PROBED = ROOT_CONTEXT.setValue(PROBE, true);
const isProbe = (): boolean => context.active().getValue(PROBE) === true;

function within<T>(traceParent: () => string, work: () => T): T {
  // Without a context manager no span is ever active, so nobody could find it.
  if (!context.with(PROBED, isProbe)) return work();
  const span = parseTraceParent(traceParent());
  return span === undefined ? work() : context.with(trace.setSpanContext(context.active(), span), work);
}

interface Instruments {
  readonly counters: ReadonlyMap<MetricName, Counter>;
  readonly histograms: ReadonlyMap<MetricName, Histogram>;
  readonly gauges: ReadonlyMap<MetricName, Gauge>;
}

/** Creates each instrument once, at the start: a second one would count apart. */
function createInstruments(meter: Meter): Instruments {
  const counters = new Map<MetricName, Counter>();
  const histograms = new Map<MetricName, Histogram>();
  const gauges = new Map<MetricName, Gauge>();
  for (const name of Object.keys(INSTRUMENTS) as MetricName[]) {
    const { kind, unit, description } = INSTRUMENTS[name];
    if (kind === 'counter') counters.set(name, meter.createCounter(name, { unit, description }));
    else if (kind === 'gauge') gauges.set(name, meter.createGauge(name, { unit, description }));
    else {
      const advice = { explicitBucketBoundaries: [...SECONDS_BOUNDARIES] };
      histograms.set(name, meter.createHistogram(name, { unit, description, advice }));
    }
  }
  return { counters, histograms, gauges };
}

function assured(name: MetricName, kind: InstrumentKind): MetricName {
  invariant(INSTRUMENTS[name]?.kind === kind, `the metric ${name} is no ${kind}`);
  return name;
}

const apiAttributes = (attributes: Attributes | undefined): ApiAttributes | undefined =>
  attributes as ApiAttributes | undefined;

/** The remote parent if one is named and readable, else the span that is active in the caller. */
function parentContext(parent: string | undefined): Context {
  const remote = parent === undefined ? undefined : parseTraceParent(parent);
  return remote ? trace.setSpanContext(ROOT_CONTEXT, remote) : context.active();
}

function portSpan(span: ApiSpan): Span {
  return {
    set(attributes) {
      span.setAttributes({ ...attributes });
    },
    fail(error) {
      const recorded = recordable(error);
      span.recordException(recorded);
      span.setStatus({ code: SpanStatusCode.ERROR, message: recorded.message });
    },
    end() {
      span.end();
    },
    trace: formatTraceParent(span.spanContext()),
  };
}

interface RecordedException {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string;
}

function recordable(error: unknown): RecordedException {
  if (!(error instanceof Error)) return { name: typeof error, message: `a thrown ${typeof error}` };
  const { code } = error as { code?: unknown };
  const message = error instanceof TidemarkError || typeof code !== 'string' ? error.name : `${error.name} ${code}`;
  return {
    name: error.name,
    message: error instanceof TidemarkError ? `${error.code}: ${error.message}` : message,
    ...(typeof code === 'string' ? { code } : {}),
    ...(error.stack === undefined ? {} : { stack: framesOf(error.stack) }),
  };
}

/** Returns the frames alone: the head of a stack repeats the message, which may have many lines. */
const framesOf = (stack: string): string =>
  stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .join('\n');

/** W3C `traceparent`: https://www.w3.org/TR/trace-context/#traceparent-header. An invalid one is no parent. */
const TRACE_PARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The remote span that the text names. A later version may have more fields; version ff is invalid (W3C, 3.2). */
export function parseTraceParent(text: string): SpanContext | undefined {
  const [, version, traceId, spanId, flags, more] = TRACE_PARENT.exec(text) ?? [];
  if (!traceId || !spanId || !flags) return undefined;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  const parsed = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parsed) ? parsed : undefined;
}

/** Undefined for the context of a span that nothing records and that continues no trace. */
export function formatTraceParent(context: SpanContext): string | undefined {
  if (!isSpanContextValid(context)) return undefined;
  const flags = (context.traceFlags & 0xff).toString(16).padStart(2, '0');
  return `00-${context.traceId}-${context.spanId}-${flags}`;
}
