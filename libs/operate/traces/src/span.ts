/** Owns the shape of a span as Tidemark draws it. Times are milliseconds since the Unix epoch, by the clocks of the events' writers. */

import type { SpanId, TraceId } from '@tidemark/runtime';

export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

export interface SpanLink {
  readonly traceId: TraceId;
  readonly spanId: SpanId;
  readonly attributes: SpanAttributes;
}

export interface SpanEvent {
  readonly name: string;
  readonly atMs: number;
  readonly attributes: SpanAttributes;
}

export interface TraceSpan {
  readonly traceId: TraceId;
  readonly spanId: SpanId;
  /** Null: the workflow itself. */
  readonly parentSpanId: SpanId | null;
  readonly name: string;
  /** `client`: the work happens elsewhere. */
  readonly kind: 'internal' | 'client';
  readonly startMs: number;
  readonly endMs: number;
  /** Whether the span has not ended; `endMs` is then the time of the last known event. */
  readonly isOpen: boolean;
  readonly attributes: SpanAttributes;
  /** Code of the failure; undefined: it did not fail. */
  readonly error: string | undefined;
  readonly links: readonly SpanLink[];
  readonly events: readonly SpanEvent[];
}
