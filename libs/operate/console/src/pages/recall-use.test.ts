/** What recall is worth is told by arm, of workflows that ended in a session that is compared. */

import { expect, it } from 'vitest';
import { byArm } from './recall-use.ts';

const ended = (arm: string | null, status: string, sequence_number: number, tokens: number, seconds: number) => ({
  session: 's' as string | null,
  tags: arm === null ? ['gold'] : ['gold', `tidemark:recall=${arm}`],
  ...{ status: status as 'completed', sequence_number, tokens },
  opened_at: '2026-11-28T10:00:00.000Z',
  updated_at: new Date(Date.parse('2026-11-28T10:00:00.000Z') + seconds * 1_000).toISOString(),
});

it('means of each arm, without what is open or not compared', () => {
  const found = byArm([
    ended('injected', 'completed', 2, 100, 4),
    ended('injected', 'failed', 4, 300, 8),
    ended('injected', 'open', 90, 9_000, 900),
    ended('control', 'completed', 6, 500, 20),
    ended(null, 'completed', 70, 7_000, 700),
    // A child, or a fork.
    { ...ended('control', 'completed', 1, 1, 1), session: null },
  ]);
  expect(found).toEqual([
    { arm: 'injected', workflows: 2, steps: 3, tokens: 200, ms: 6_000, completed: 0.5 },
    { arm: 'control', workflows: 1, steps: 6, tokens: 500, ms: 20_000, completed: 1 },
  ]);
  expect(byArm([ended(null, 'completed', 1, 1, 1)])).toEqual([]);
});
