/** What waits for a person is told by reason, and told to be none once nothing waits; reasons are bounded. */

import { noTelemetry, type WorkflowSummary } from '@tidemark/ports';
import { expect, test } from 'vitest';
import { PARKED_REASONS_MAX } from './limits.ts';
import { ParkedGauges } from './parked-gauges.ts';

test('tells how many wait, by reason', async () => {
  let reasons: readonly (string | null)[] = ['budget_exceeded', 'crash-limit', 'crash-limit'];
  const told = new Map<unknown, number>();
  const gauges = new ParkedGauges({
    store: {
      async workflows(query) {
        expect(query.status).toBe('parked');
        return reasons.map((reason) => ({ reason }) as WorkflowSummary);
      },
    },
    telemetry: {
      ...noTelemetry,
      gauge(name, value, attributes) {
        expect(name).toBe('workflows_parked');
        told.set(attributes?.reason, value);
      },
    },
  });
  await gauges.look();
  expect([...told]).toEqual([
    ['budget_exceeded', 1],
    ['crash-limit', 2],
  ]);
  reasons = ['budget_exceeded'];
  await gauges.look();
  expect([...told]).toEqual([
    ['budget_exceeded', 1],
    ['crash-limit', 0],
  ]);
  reasons = Array.from({ length: 2 * PARKED_REASONS_MAX }, (_, at) => `reason-${at}`);
  await gauges.look();
  expect(told.size).toBe(PARKED_REASONS_MAX + 1);
  expect(told.get('other')).toBe(PARKED_REASONS_MAX + 2);
});
