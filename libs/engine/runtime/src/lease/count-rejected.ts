/** Owns the counters of what the fold rejected. */

import type { ProjectionBatch, Telemetry } from '@tidemark/ports';

export function countRejected(rejected: ProjectionBatch['rejected'], telemetry: Telemetry): void {
  for (const { reason } of rejected) {
    telemetry.count('events_rejected_total', 1, { reason });
    if (reason === 'malformed') telemetry.count('records_malformed_total', 1);
  }
}
