/** A call whose request differs at a later attempt: a model gets what was recorded, an effect asks unless it says otherwise. */

import { defineWorkflow, task } from '@tidemark/sdk';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { testModel } from './test-model.ts';
import { testWorld } from './test-world.ts';

it('a model whose first call throws', async () => {
  const asked: string[] = [];
  const model = testModel((prompt) => {
    asked.push(JSON.stringify(prompt.messages));
    if (asked.length === 1) throw new Error('down');
    return 'ok';
  });
  let now = 0;
  const ask = defineWorkflow({
    name: 'ask',
    version: 1,
    input: z.object({}),
    belief: z.object({}),
    output: z.object({ text: z.string() }),
    models: { default: model },
    tasks: { ask: z.object({}) },
    flow: { ask: [] },
    begin: () => ({ belief: {}, next: [task('ask', {})] }),
    steps: {
      ask: async (ctx) => ({ done: { text: (await ctx.model({ prompt: `Now is ${now++}` })).text } }),
    },
  });
  const world = await testWorld({ workflows: [ask] });
  const run = await world.start(ask, {});
  await world.fastForward(run.result()).catch((e: unknown) => console.log(e));
  console.log(await run.summary(), asked);
  expect((await run.summary())?.status).toBe('completed');
  await world.close();
});
