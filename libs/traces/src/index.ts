/** The door of @tidemark/traces. */

export { type Collector, collectorOf, sendAll, sendSpans } from './collector.ts';
export { GEN_AI_CONVENTIONS } from './gen-ai.ts';
export { type DrawnTrace, type HistoryPorts, historyOf, type PlacedEvent, traceOf } from './history.ts';
export { type OtlpForm, otlpRequest, traceResource } from './otlp.ts';
export type { SpanAttributes, SpanEvent, SpanLink, TraceSpan } from './span.ts';
export type { DrawingOptions, TracedEvent } from './traced-event.ts';
export { WorkflowTrace } from './workflow-trace.ts';
