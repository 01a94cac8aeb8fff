/**
 * Owns the gauges of each pool's demand. Every coordinator reports the whole demand, so a sum over coordinators counts it more than once.
 */

import { UnavailableError } from '@tidemark/core';
import type { Telemetry } from '@tidemark/ports';
import type { Demand, Demands } from './demand.ts';

/** The age of demand that was never seen, or that was forgotten. */
const NEVER_MS = Number.MAX_SAFE_INTEGER;

/** While demand is unknown the gauges keep their values, and their age shows it: beyond `DEMAND_STALE_MS` they must not be used. */
export function reportDemand(demand: Pick<Demand, 'snapshot' | 'ageMs' | 'oldestAgesMs'>, telemetry: Telemetry): void {
  const { ageMs } = demand;
  telemetry.gauge('pool_demand_age_ms', Number.isFinite(ageMs) ? ageMs : NEVER_MS);
  const reported = reportedBy(demand);
  if (reported === undefined) return;
  telemetry.gauge('pool_unassigned', reported.unassignedCount);
  for (const [pool, oldestMs] of demand.oldestAgesMs()) telemetry.gauge('pool_oldest_age_ms', oldestMs, { pool });
  for (const each of reported.pools) {
    const { pool } = each;
    telemetry.gauge('pool_in_flight', each.inFlightCount, { pool });
    telemetry.gauge('pool_backlog', each.backlogCount, { pool });
    telemetry.gauge('pool_recovery_debt', each.recoveryDebtCount, { pool });
    telemetry.gauge('pool_demand', each.demandCount, { pool });
    telemetry.gauge('pool_busy_workers', each.busyWorkerCount, { pool });
    telemetry.gauge('pool_held', each.heldCount, { pool });
    telemetry.gauge('pool_limited', each.limitedCount, { pool });
  }
}

function reportedBy(demand: Pick<Demand, 'snapshot'>): Demands | undefined {
  try {
    return demand.snapshot();
  } catch (error) {
    if (error instanceof UnavailableError) return undefined;
    throw error;
  }
}
