/** Entry point of @tidemark/telemetry. */

export { INSTRUMENTS, type InstrumentDescription, type InstrumentKind, SECONDS_BOUNDARIES } from './instruments.ts';
export type { MetricPoint, MetricSnapshot } from './metric-snapshot.ts';
export { openTelemetry, type TelemetryOptions, tracing } from './open-telemetry.ts';
export { bothTelemetries, openPrometheus, type PrometheusRegistry } from './prometheus.ts';
