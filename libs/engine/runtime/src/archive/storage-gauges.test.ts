/** Storage metrics: the latest size of each tenant and workflow, and 0 once nothing is left. */

import type { StorageUse } from '@tidemark/ports';
import { expect, it } from 'vitest';
import { StorageGauges } from './storage-gauges.ts';

const use = (name: string, hotBytes: number, archivedBytes: number): StorageUse => ({
  ...{ name, hotBytes, archivedBytes },
  ...{ workflowCount: 1, eventCount: 1, archivedEventCount: 1, archivedRawBytes: archivedBytes * 7 },
});

it('tells rows, segments, and segments as the log held them, until they are gone', async () => {
  const reported = new Map<string, number>();
  const gauge = (name: string, value: number, { form, ...of }: Record<string, string | number> = {}): void =>
    void reported.set(`${name} ${Object.values(of)} ${form}`, value);
  let uses = [use('acme', 900, 10), use('mine', 50, 0)];
  const telemetry = { counter: () => {}, histogram: () => {}, gauge };
  const gauges = new StorageGauges({
    store: { storage: async (by) => (by === 'tenant' ? uses : []) },
    telemetry: telemetry as never,
  });

  await gauges.report();
  expect(Object.fromEntries(reported)).toEqual({
    'storage_bytes acme rows': 900,
    'storage_bytes acme segments': 10,
    'storage_bytes acme segments-as-log': 70,
    'storage_bytes mine rows': 50,
    'storage_bytes mine segments': 0,
    'storage_bytes mine segments-as-log': 0,
  });

  uses = [use('mine', 60, 0)];
  await gauges.report();
  expect(reported.get('storage_bytes mine rows')).toBe(60);
  expect(reported.get('storage_bytes acme rows')).toBe(0);
  expect(reported.get('storage_bytes acme segments-as-log')).toBe(0);
});
