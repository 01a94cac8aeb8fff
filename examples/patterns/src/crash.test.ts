/** What a user's test of a crash looks like: a worker that dies where the test says, and another that resumes. */

import { testWorld } from '@tidemark/testkit';
import { expect, it } from 'vitest';
import { issueCredit, refund } from './effect.ts';

it('calls once, though the worker dies after its intention', async () => {
  const world = await testWorld({ workflows: [refund] });
  world.stub(issueCredit, async () => ({ creditId: 'c1' }));
  world.crash({ after: 'EffectIntended', operation: 'ledger.credit' }); // the worker dies here; another resumes
  const run = await world.start(refund, { orderId: '8821', paidCents: 9900, daysUsed: 10, daysPaid: 30 });
  await run.result();
  expect([world.crashCount, world.calls(issueCredit).length]).toEqual([1, 1]);
  await world.close();
});
