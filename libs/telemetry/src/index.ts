/** The door of @tidemark/telemetry. */

export { openTelemetry, type TelemetryOptions } from './open-telemetry.ts';
