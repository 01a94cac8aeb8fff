/** Entry point of @tidemark/traces. */

export { clusterPackage } from './cluster-package.ts';
export { collectorOf, otlpJson, SpanClient } from './collector.ts';
export { CONTENT_ATTRIBUTES } from './gen-ai.ts';
export { historyOf, traceOf } from './history.ts';
export { LiveTraces } from './live-traces.ts';
export { MetricsExport, type MetricsSettings, metricsSettings } from './metrics-export.ts';
export { type TraceSettings, traceSettings } from './settings.ts';
export type { SpanAttributes, TraceSpan } from './span.ts';
