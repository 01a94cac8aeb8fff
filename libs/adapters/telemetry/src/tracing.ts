/**
 * Owns what users' own instrumentation finds while a step or a call runs: its span as the active context of the OpenTelemetry API. It brings
 * no SDK.
 */

import { context, isSpanContextValid, ROOT_CONTEXT, type SpanContext, trace } from '@opentelemetry/api';
import type { Telemetry } from '@tidemark/ports';

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

/** W3C `traceparent`: https://www.w3.org/TR/trace-context/#traceparent-header. An invalid one is no parent. */
const PATTERN = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The remote span that the text names. A later version may have more fields; version ff is invalid (W3C, 3.2). */
export function parseTraceParent(text: string): SpanContext | undefined {
  const [, version, traceId, spanId, flags, more] = PATTERN.exec(text) ?? [];
  if (!traceId || !spanId || !flags) return undefined;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  const parsed = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parsed) ? parsed : undefined;
}
