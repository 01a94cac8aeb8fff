/**
 * Forks of random workflows: trees of tasks, some parallel, with effects (equal ones among them), closures that never give the same twice,
 * and failures that are retried. A fork that replays reaches the base's output from wherever it begins, and so does a fork of a fork, and
 * nothing is called. A failure prints its seed and path.
 */

import type { Json } from '@tidemark/core';
import { FORK_PARTITIONS, ForkWorld } from '@tidemark/testkit/engine/fork-fixture';
import { definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Definition } from '../definition/definition.ts';

/** Properties take seconds when other work has the machine; a hang is still found. */
const RUNS = 40;

type Node = {
  /** Requests of its effects; equal ones are likely. */
  readonly asks: readonly number[];
  readonly draws: number;
  readonly children: readonly Node[];
  /** Each child after the one before it, or all in parallel. */
  readonly inRow: boolean;
  /** Attempts that fail before one succeeds. */
  readonly fails: number;
};

const node = (depth: number): fc.Arbitrary<Node> =>
  fc.record({
    asks: fc.array(fc.nat(2), { maxLength: 3 }),
    draws: fc.nat(2),
    children: depth === 0 ? fc.constant([]) : fc.array(node(depth - 1), { maxLength: 3 }),
    inRow: fc.boolean(),
    fails: fc.constantFrom(0, 0, 0, 1),
  });

const countOf = ({ children }: Node): number => children.reduce((sum, child) => sum + countOf(child), 1);

const leaf = (asks: readonly number[], draws: number, children: readonly Node[] = []): Node => {
  return { asks, draws, children, inRow: false, fails: 0 };
};
/** Two parallel tasks are committed here in another order than in the base, so tasks that they add have other ids. */
const CROSSED = leaf([], 0, [leaf([0, 0], 0, [leaf([], 1)]), leaf([0], 2)]);

/** Each draw gives a new number. */
function planned(world: ForkWorld): Definition {
  let drawn = 0;
  const ask = world.effect('ask');
  return definitionOf({
    name: 'plan',
    belief: { done: 0 },
    steps: {
      begin: (ctx) => ({
        next: [
          { step: 'do', input: ctx.input },
          { step: 'end', input: null, after: 'all' },
        ],
      }),
      do: {
        retry: { attempts: 3, firstDelayMs: 1, factor: 1, maxDelayMs: 1, jitter: 0, nonRetryable: [] },
        async run(ctx, input) {
          const { asks, draws, children, inRow, fails } = input as unknown as Node;
          const said: Json[] = [];
          for (const number of asks) said.push(await ctx.effect(ask, { number }));
          for (let at = 0; at < draws; at++) said.push(await ctx.run('draw', () => ++drawn));
          if (ctx.attempt <= fails) throw new Error('once more');
          const next: { step: string; input: Json; after?: never }[] = [];
          for (const child of children) {
            const before = next.at(-1);
            const after = inRow && before !== undefined ? { after: [before] as never } : {};
            next.push({ step: 'do', input: child as unknown as Json, ...after });
          }
          return {
            output: said,
            belief: (b) => ({ done: (b as { done: number }).done + 1 }),
            next: children.length === 0 ? [] : [...next, { step: 'note', input: null, after: 'all' }],
          };
        },
      },
      note: () => ({ output: 'noted' }),
      async end(ctx) {
        // It waits for what was there before it, and once more for what has been added since.
        const { done } = ctx.belief as { done: number };
        if (done < countOf(ctx.input as unknown as Node)) return { next: [{ step: 'end', input: null, after: 'all' }] };
        const said = (await ctx.outputs('do')).map((one) => JSON.stringify(one)).sort();
        return { done: { belief: ctx.belief, said } };
      },
    },
  });
}

test('a fork that replays comes to the base’s output, wherever it begins, and nothing is called', async () => {
  await fc.assert(
    fc.asyncProperty(node(2), fc.array(fc.nat(), { minLength: 1, maxLength: 4 }), async (plan, picks) => {
      const world = new ForkWorld(new SimulatedLog(FORK_PARTITIONS));
      await world.coordinator.start();
      const definition = planned(world);
      await world.worker([definition]);
      let of = await world.ended(definition, plan as unknown as Json);
      const [output, callCount] = [world.outputOf(of), world.calls.length];
      for (const pick of picks) {
        const { sequence } = world.streamOf(of);
        const { workflow } = await world.fork(of, { at: pick % sequence });
        await world.until(workflow, 'completed');
        expect(world.outputOf(workflow)).toEqual(output);
        of = workflow;
      }
      expect([world.calls.length, world.probed]).toEqual([callCount, []]);
      await world.close();
    }),
    { numRuns: RUNS, examples: [[CROSSED, [0]]] },
  );
});

test('control: with live effects the same fork calls, draws, and comes to another output', async () => {
  const world = new ForkWorld(new SimulatedLog(FORK_PARTITIONS));
  await world.coordinator.start();
  const definition = planned(world);
  await world.worker([definition]);
  const plan: Node = { asks: [1, 1], draws: 1, children: [], inRow: false, fails: 0 };
  const base = await world.ended(definition, plan as unknown as Json);
  const { workflow } = await world.fork(base, { at: 1, effects: 'live' });
  await world.until(workflow, 'completed');
  expect(world.outputOf(workflow)).not.toEqual(world.outputOf(base));
  expect(world.calls).toHaveLength(4);
  await world.close();
});
