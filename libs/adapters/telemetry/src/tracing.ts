/**
 * Owns what users' own instrumentation finds while a step or a call runs: its span as the active context of the OpenTelemetry API. It brings
 * no SDK.
 */

import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api';
import type { Telemetry } from '@tidemark/ports';
import { parseTraceParent } from './trace-parent.ts';

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
