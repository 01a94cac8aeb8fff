/** Owns the refund of docs/comparison.md as a workflow of DBOS. It is compiled, and not run. */

import { DBOS } from '@dbos-inc/dbos-sdk';
import { credit, orderOf } from './shop.ts';

const TWO_DAYS_S = 172_800;

export const refund = DBOS.registerWorkflow(
  async (order: string): Promise<string[]> => {
    const { cents, items } = await DBOS.runStep(() => orderOf(order), { name: 'order' });
    if (cents > 50_000 && (await DBOS.recv<boolean>('answer', TWO_DAYS_S)) !== true) return [];
    return Promise.all(items.map((item) => DBOS.runStep(() => credit(item), { name: 'credit' })));
  },
  { name: 'refund' },
);
export const answer = (run: string, approved: boolean) => DBOS.send(run, approved, 'answer');
