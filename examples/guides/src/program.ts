/** A program that starts a workflow, signals it, answers what it asks and takes its output, over the API. */

import { connect, TidemarkApiError } from '@tidemark/client';

export async function refunded(url: string, token: string, order: string): Promise<number | null> {
  const client = connect({ url, token });
  // The same id is the same run: this program may die at any line, and begin again.
  const run = await client.start('refund', { order }, { id: `refund-${order}`, tags: ['shop'] });
  await run.signal('returned', { at: 'the depot' }, { key: `returned-${order}` });
  // What its tasks ask, of those that this caller may answer.
  const { approvals } = await client.ask('GET /v1/approvals', { query: { mine: 'true' } });
  for (const { workflow, task } of approvals.filter(({ workflow }) => workflow === run.id)) {
    const body = { approved: true, value: { cents: 4_200 }, why: 'it came back whole' };
    await client.ask('POST /v1/workflows/{workflow}/approvals/{task}', { params: { workflow, task }, body });
  }
  try {
    return (await run.result<{ cents: number }>()).cents;
  } catch (error) {
    if (!(error instanceof TidemarkApiError) || error.code !== 'workflow-parked') throw error;
    const { waits_for: wait } = await run.get();
    console.error(`${run.id} ${wait?.text}; ends by ${wait?.ends_by}`);
    return null;
  }
}
