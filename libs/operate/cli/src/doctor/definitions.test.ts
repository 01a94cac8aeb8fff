/** What doctor advises about definitions themselves. */

import { defineWorkflow, type PhaseOptions, task } from '@tidemark/sdk';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { sharedBundles } from './definitions.ts';

const phased = (phases: Record<string, PhaseOptions>, bundle: object) =>
  defineWorkflow({
    ...{ name: 'phased', version: 1, input: z.object({}), belief: z.object({}), output: z.object({}) },
    ...{
      tasks: { work: z.object({}) },
      flow: { work: [] },
      bundles: { reply: { budgetTokens: 100, ...bundle } },
      phases,
    },
    begin: () => ({ belief: {}, next: [task('work', {})] }),
    steps: { work: async () => ({ done: {} }) },
  });

it('a bundle that carries what other phases said is named', () => {
  const two = { plan: { next: ['act'] }, act: {} };
  expect(sharedBundles(phased(two, { phases: 'all' }).context)).toMatchObject([
    { code: 'bundle-of-all-phases', subject: 'reply', message: expect.stringContaining("phases: 'all'") },
  ]);
  // The controls.
  expect(sharedBundles(phased(two, {}).context)).toEqual([]);
  expect(sharedBundles(phased({ plan: {} }, { phases: 'all' }).context)).toEqual([]);
});
