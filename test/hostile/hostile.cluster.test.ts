/** The hostile run in short: services that are attacked live on, answer, keep within their memory, and serve the tenant beside. */

import { describeServers } from '@tidemark/testkit/suites';
import { expect, it } from 'vitest';
import { brokenBy, type HostileResult, runHostile } from './run.ts';

describeServers('services under attack', ['kafka', 'redis', 'postgres'], (servers) => {
  it('live on, answer all, and serve the tenant beside', { timeout: 600_000 }, async () => {
    const notes: string[] = [];
    const result = await runHostile({
      servers: { kafka: servers.kafka, redis: servers.redis, postgres: await servers.freshDatabase() },
      ...{ inputs: 8_000, seed: '1', rate: 150, rounds: 1, roundS: 3 },
      onNote: (text) => notes.push(text),
    });
    expect({ broken: brokenBy(result), faults: result.faults }).toEqual({ broken: [], faults: [] });
    expect(result.inputs).toBeGreaterThanOrEqual(8_000);
    // They were met: with 413, what is too much; with 401 and 403, who may not.
    for (const status of ['400', '401', '403', '413']) expect(result.statuses[status]).toBeGreaterThan(0);
  });
});

it('a run that broke a promise is told (control)', () => {
  const good: HostileResult = {
    ...{ inputs: 1, crashes: 0, errors5xx: 0, unanswered: 0, tenantErrors: 0, tenantP99Ratio: 1, idleCores: 1 },
    ...{ tenantP99Ms: { valid: 1, hostile: 1 }, peakMb: { coordinator: 1, worker: 1 }, statuses: {}, faults: [] },
  };
  expect(brokenBy(good)).toEqual([]);
  for (const bad of [
    { crashes: 1 },
    { errors5xx: 1 },
    { unanswered: 1 },
    { tenantErrors: 1 },
    { peakMb: { coordinator: 9e9, worker: 1 } },
  ]) {
    expect(brokenBy({ ...good, ...bad })).toHaveLength(1);
  }
});
