/** Parked workflows are reported by reason, and as 0 once none waits; reasons are bounded. */

import { noTelemetry, type ParkedCount } from '@tidemark/ports';
import { expect, test } from 'vitest';
import { PARKED_REASONS_MAX, PARKED_REASONS_READ_MAX } from './limits.ts';
import { ParkedGauges } from './parked-gauges.ts';

test('tells how many wait, by reason', async () => {
  let counts: readonly ParkedCount[] = [
    { reason: 'budget_exceeded', count: 100_000 },
    { reason: 'crash-limit', count: 2 },
    { reason: null, count: 1 },
  ];
  const reported = new Map<unknown, number>();
  const gauges = new ParkedGauges({
    store: {
      async parkedCounts(limit) {
        expect(limit).toBe(PARKED_REASONS_READ_MAX);
        return counts;
      },
    },
    telemetry: {
      ...noTelemetry,
      gauge(name, value, attributes) {
        expect(name).toBe('workflows_parked');
        reported.set(attributes?.reason, value);
      },
    },
  });
  await gauges.poll();
  expect(Object.fromEntries(reported)).toEqual({ budget_exceeded: 100_000, 'crash-limit': 2, other: 1 });
  counts = [{ reason: 'budget_exceeded', count: 1 }];
  await gauges.poll();
  expect(Object.fromEntries(reported)).toEqual({ budget_exceeded: 1, 'crash-limit': 0, other: 0 });
  counts = Array.from({ length: 2 * PARKED_REASONS_MAX }, (_, at) => ({ reason: `reason-${at}`, count: 3 }));
  await gauges.poll();
  // Three were reported before, and the remaining room goes to the first that come.
  expect(reported.size).toBe(PARKED_REASONS_MAX + 1 - 1);
  expect(reported.get('other')).toBe(3 * (2 * PARKED_REASONS_MAX - (PARKED_REASONS_MAX - 3)));
});
