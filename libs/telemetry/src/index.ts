/** The door of @tidemark/telemetry. */

export { openTelemetry, type TelemetryOptions, tracing } from './open-telemetry.ts';
