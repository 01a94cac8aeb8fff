/** The door of @tidemark/telemetry. */

export type { Exemplar, MetricPoint, MetricSnapshot } from './metric-snapshot.ts';
export { openTelemetry, type TelemetryOptions, tracing } from './open-telemetry.ts';
export { bothTelemetries, openPrometheus, type PrometheusRegistry } from './prometheus.ts';
