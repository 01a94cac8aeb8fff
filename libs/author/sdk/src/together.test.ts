import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineEffect } from './effect.ts';
import { task } from './task.ts';
import { checkTogether } from './together.ts';
import { defineWorkflow } from './workflow.ts';
import type { Workflow } from './workflow-spec.ts';

const issueCredit = defineEffect({
  operation: 'payments.credit',
  kind: 'irreversible',
  request: z.object({ cents: z.number().int() }),
  response: z.object({ creditId: z.string() }),
  call: ({ cents }) => ({ creditId: `c${cents}` }),
});

const spec = {
  name: 'refund',
  version: 2,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  tasks: { price: z.object({}) },
  flow: { price: [] },
  begin: () => ({ belief: {}, next: [task('price', {})] }),
  steps: { price: () => ({ done: {} }) },
};
const define = (change: object): Workflow => defineWorkflow({ ...spec, ...change } as never);

describe('checkTogether', () => {
  it('refuses two workflows of one name and version, and two effects of one operation', () => {
    expect(() => checkTogether([define({}), define({})])).toThrow('two workflows are refund v2');
    const one = define({ effects: [issueCredit] });
    const two = define({ name: 'credit', effects: [{ ...issueCredit }] });
    expect(() => checkTogether([one, two])).toThrow(expect.objectContaining({ code: 'definitions-conflict' }));
  });

  it('accepts versions side by side that share effects, and gives each warning once', () => {
    const effects = [issueCredit];
    expect(checkTogether([define({ effects }), define({ effects, version: 3 })])).toHaveLength(1);
    // A build of its own for each version brings a definition of its own of the same effect.
    const other = define({ effects: [{ ...issueCredit }], version: 3 });
    expect(checkTogether([define({ effects }), other])).toHaveLength(1);
  });
});
