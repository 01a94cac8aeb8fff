/** Owns the refund of docs/comparison.md as a workflow of Restate. It is compiled, and not run. */

import { RestatePromise, type WorkflowContext, type WorkflowSharedContext, workflow } from '@restatedev/restate-sdk';
import { credit, orderOf } from './shop.ts';

export const refund = workflow({
  name: 'refund',
  handlers: {
    run: async (ctx: WorkflowContext, order: string): Promise<string[]> => {
      const { cents, items } = await ctx.run('order', () => orderOf(order));
      if (cents > 50_000) {
        const late = ctx.sleep({ days: 2 }).map(() => false);
        if (!(await RestatePromise.race([ctx.promise<boolean>('answer').get(), late]))) return [];
      }
      return RestatePromise.all(items.map((item) => ctx.run('credit', () => credit(item))));
    },
    answer: (ctx: WorkflowSharedContext, approved: boolean) => ctx.promise<boolean>('answer').resolve(approved),
  },
});
