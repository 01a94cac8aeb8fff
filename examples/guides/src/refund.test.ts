/** The refund agent as a workflow of steps and as a function: both do the same, over the death of a worker anywhere. */

import { readFile } from 'node:fs/promises';
import { crashEverywhere, type TestWorld, testWorld } from '@tidemark/testkit';
import { eventually } from '@tidemark/testkit/eventually';
import { expect, it } from 'vitest';
import { lookOutside } from './outside.ts';
import { refundFunction } from './refund-function.ts';
import { restock } from './refund-outside.ts';
import { refundSteps } from './refund-steps.ts';

const text = 'The lamp of order o1 is broken.';

const asksOnce = async (world: TestWorld, agent: typeof refundSteps | typeof refundFunction) => {
  lookOutside();
  const run = await world.start(agent as typeof refundFunction, { text });
  const asked = await eventually(async () => (await world.client.approvals()).approvals[0]);
  const value = { order: 'o1', cents: 5_000 };
  await world.client.approve(run.id, asked.task, { approved: true, by: 'ana', value });
  const { answer } = await run.result();
  return { title: asked.title, isToldCents: /"cents\W+5000/.test(answer), outside: lookOutside().toSorted() };
};
const wanted = {
  title: 'Refund 9900 of o1?',
  isToldCents: true,
  outside: ['refund o1 5000', 'restock bulb', 'restock lamp', 'tag t1 refund'],
};

it('the refund agent asks a person, refunds once and restocks each line, wherever its worker dies', async () => {
  const { outcome } = await crashEverywhere({ workflows: [refundFunction, restock] }, (world) =>
    asksOnce(world, refundFunction),
  );
  expect(outcome).toEqual(wanted);
});

it('so does the one of steps', async () => {
  const world = await testWorld({ workflows: [refundSteps, restock] });
  expect(await asksOnce(world, refundSteps)).toEqual(wanted);
  await world.close();
});

it('the function has at most 60 % of the lines', async () => {
  const linesOf = async (file: string): Promise<number> => {
    const source = await readFile(new URL(file, import.meta.url), 'utf8');
    return source.slice(source.indexOf('\nexport const')).trim().split('\n').length;
  };
  expect((await linesOf('refund-function.ts')) / (await linesOf('refund-steps.ts'))).toBeLessThanOrEqual(0.6);
});
