/** Entry point of @tidemark/traces. */

export { clusterPackage } from './cluster-package.ts';
export { type Collector, collectorOf, otlpJson, SpanClient } from './collector.ts';
export { CONTENT_ATTRIBUTES } from './gen-ai.ts';
export { type DrawnTrace, type HistoryPorts, historyOf, type PlacedEvent, traceOf } from './history.ts';
export { LiveTraces, type LiveTracesOptions } from './live-traces.ts';
export { MetricsExport, type MetricsExportOptions, type MetricsSettings, metricsSettings } from './metrics-export.ts';
export { type TraceSettings, traceSettings } from './settings.ts';
export type { SpanAttributes, SpanEvent, SpanLink, TraceSpan } from './span.ts';
export type { DropReason } from './span-queue.ts';
export type { DrawingOptions, TracedEvent } from './traced-event.ts';
export { WorkflowTrace } from './workflow-trace.ts';
