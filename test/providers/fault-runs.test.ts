/** Every fault of every family, whole and streamed: what is recorded, what is paid, what the run does. */

import { beforeAll, expect, test } from 'vitest';
import { CASES, faultRuns, nameOf, type Outcome } from './fault-runs.ts';
import { expectedOf, happened } from './fault-table.ts';

const WAIT_S = 20;
let outcomes: ReadonlyMap<string, Outcome>;
beforeAll(async () => {
  outcomes = await faultRuns();
});

test.each(CASES.map(nameOf))('%s', (name) => {
  const outcome = outcomes.get(name)!;
  const { of: _, ...expected } = expectedOf(name);
  expect(happened(outcome)).toEqual(expected);
  expect(outcome.broken).toBe(0);
  if (name.startsWith('rate-limited-with-wait')) expect(outcome.waitS).toBeGreaterThanOrEqual(WAIT_S);
});
