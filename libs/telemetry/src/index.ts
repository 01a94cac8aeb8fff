/** The door of @tidemark/telemetry. */

export { openTelemetry, type TelemetryOptions, tracing } from './open-telemetry.ts';
export { bothTelemetries, openPrometheus, type PrometheusRegistry } from './prometheus.ts';
