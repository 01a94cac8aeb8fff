/** Owns the W3C `traceparent`: https://www.w3.org/TR/trace-context/#traceparent-header. An invalid one is no parent. */

import { isSpanContextValid, type SpanContext } from '@opentelemetry/api';

const PATTERN = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** The remote span that the text names. A later version may have more fields; version ff is invalid (W3C, 3.2). */
export function parseTraceParent(text: string): SpanContext | undefined {
  const [, version, traceId, spanId, flags, more] = PATTERN.exec(text) ?? [];
  if (!traceId || !spanId || !flags) return undefined;
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  const parsed = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(parsed) ? parsed : undefined;
}
