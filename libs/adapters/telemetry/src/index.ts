/** Entry point of @tidemark/telemetry. */

export {
  exposedName,
  INSTRUMENTS,
  SECONDS_BOUNDARIES,
} from './instruments.ts';
export type { MetricPoint, MetricSnapshot } from './metric-snapshot.ts';
export { openPrometheus, type PrometheusRegistry } from './prometheus.ts';
export { tracing } from './tracing.ts';
