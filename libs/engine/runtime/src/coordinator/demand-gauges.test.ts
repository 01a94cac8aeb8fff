/** Outdated demand is marked as such, also before any was seen. */

import { UnavailableError } from '@tidemark/core';
import { noTelemetry } from '@tidemark/ports';
import { expect, test } from 'vitest';
import { reportDemand } from './demand-gauges.ts';
import { DEMAND_STALE_MS } from './limits.ts';

test('the age of what is not known is beyond what anybody goes by', () => {
  const reported = new Map<string, number>();
  const telemetry = { ...noTelemetry, gauge: (name: string, value: number) => void reported.set(name, value) };
  const unknown = (): never => {
    throw new UnavailableError('demand-unknown', 'Nothing was seen yet; ask again.');
  };
  reportDemand({ ageMs: Number.POSITIVE_INFINITY, snapshot: unknown, oldestAgesMs: unknown }, telemetry);
  expect([...reported.keys()]).toEqual(['pool_demand_age_ms']);
  expect(reported.get('pool_demand_age_ms')).toBeGreaterThan(DEMAND_STALE_MS);
  const known = () => ({ pools: [], unassignedCount: 2, ageMs: 640 });
  reportDemand({ ageMs: 640, snapshot: known, oldestAgesMs: () => new Map([['pay', 900]]) }, telemetry);
  expect(Object.fromEntries(reported)).toEqual({
    pool_demand_age_ms: 640,
    pool_unassigned: 2,
    pool_oldest_age_ms: 900,
  });
});
