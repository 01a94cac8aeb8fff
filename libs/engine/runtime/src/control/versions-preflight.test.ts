/** A build against live checkpoints: what is safe, what needs an upcaster and where, and what must stay; nothing is changed. */

import { InvalidError, type WorkflowId } from '@tidemark/core';
import { definitionOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Definition, StepResult } from '../definition/definition.ts';
import {
  PREFLIGHT_EXAMPLES_MAX_COUNT,
  PREFLIGHT_PROBLEMS_MAX_COUNT,
  PreflightReport,
  preflight,
} from './versions-preflight.ts';

const waits = (): Promise<StepResult> => new Promise(() => {});
const v1 = definitionOf({ name: 'order', belief: { price: 1 }, steps: { pay: waits } });

/** Refuses belief without cents, by a path, as a schema does. */
const inCents = (belief: unknown) => {
  if (typeof (belief as { cents?: unknown }).cents === 'number') return belief as { cents: number };
  const problems = [{ path: 'cents', problem: 'is missing (expected number)' }];
  throw new InvalidError('belief-invalid', 'order v2, belief: cents: is missing', { problems });
};
const v2: Definition = {
  ...v1,
  version: 2,
  parseBelief: inCents,
  upcasters: new Map([
    [
      1,
      {
        belief: (belief) => ({ cents: (belief as { price: number }).price * 100 }),
        task: (step, input) => ({ step, input }),
      },
    ],
  ]),
};

describe('preflight', () => {
  let world: SimulatedWorld;
  beforeEach(async () => {
    world = new SimulatedWorld(new SimulatedLog(16), 16);
    await world.coordinator.start();
  });
  afterEach(() => world.close());

  async function judged(definitions: readonly Definition[]) {
    const { store, clock } = world.ports;
    await clock.run(1_000);
    const before = JSON.stringify([...store.rows]);
    const report = new PreflightReport();
    for (const snapshot of await store.loadStreams(await store.openWorkflows(null, 1_000))) {
      const one = preflight(snapshot, definitions);
      if (one !== undefined) report.add(one);
    }
    expect(JSON.stringify([...store.rows])).toBe(before);
    return report;
  }
  const start = (definition: Definition, id: string, pinned = false) => world.start(definition, null, { id, pinned });

  it('tells apart what is safe, what needs an upcaster, and what must stay', async () => {
    await start(v1, 'a');
    await start(v1, 'b');
    await start(v1, 'c', true);
    await start({ ...v1, name: 'gone' }, 'd');
    await start({ ...v1, name: 'ahead', version: 9 }, 'e');
    await start({ ...v1, name: 'chainless' }, 'f');
    const ended = definitionOf({ name: 'gone', steps: { a: () => ({ done: 1 }) } });
    await world.worker([ended]);
    await start(ended, 'g');
    const build = [v2, { ...v1, name: 'ahead', version: 8 }, { ...v1, name: 'chainless', version: 3 }];
    const report = await judged(build);
    expect(report.isSafe).toBe(false);
    expect(report.groups.map(({ examples, problems, ...group }) => [group, examples, problems[0]?.message])).toEqual([
      [
        { definition: 'ahead', version: 9, verdict: 'pin', count: 1 },
        ['e'],
        expect.stringContaining('only go forward'),
      ],
      [
        { definition: 'chainless', version: 1, verdict: 'needs-upcaster', count: 1 },
        ['f'],
        expect.stringContaining('no chain of upcasters from v1'),
      ],
      [{ definition: 'gone', version: 1, verdict: 'pin', count: 1 }, ['d'], 'the build has no workflow named gone'],
      [{ definition: 'order', version: 1, verdict: 'pin', count: 1 }, ['c'], expect.stringContaining('pinned to v1')],
      [{ definition: 'order', version: 1, verdict: 'safe', count: 2 }, ['a', 'b'], undefined],
    ]);
    expect(
      (await judged([v1, ...build])).groups.find(
        ({ verdict, definition }) => definition === 'order' && verdict !== 'safe',
      ),
    ).toBeUndefined();
  });

  it('names the belief, the task and the path that an upcaster would have to change', async () => {
    await start(v1, 'a');
    const useless = {
      belief: (belief: unknown) => belief,
      task: (_: string, input: unknown) => ({ step: 'charge', input }),
    };
    const { groups } = await judged([{ ...v2, upcasters: new Map([[1, useless]]) }]);
    expect(groups).toMatchObject([
      {
        verdict: 'needs-upcaster',
        problems: [
          { where: 'belief', path: 'cents', message: 'is missing (expected number)', count: 1, examples: ['a'] },
          { where: 'task pay', path: '', message: expect.stringContaining("'charge'") },
        ],
      },
    ]);
  });

  it('finds a schema that was changed without raising the version', async () => {
    await start(v1, 'a');
    const { groups } = await judged([{ ...v1, parseBelief: inCents }]);
    expect(groups).toMatchObject([{ verdict: 'needs-upcaster', problems: [{ where: 'belief', path: 'cents' }] }]);
    expect((await judged([v1])).isSafe).toBe(true);
  });

  it('sums up in a size that does not follow the number of workflows', () => {
    const report = new PreflightReport();
    for (let n = 0; n < 100_000; n++) {
      const problems = [{ where: 'belief', path: `items[${n}]`, message: 'is missing' }];
      const workflow = `w${n}` as WorkflowId;
      report.add({ workflow, definition: 'd', version: 1, verdict: 'needs-upcaster', problems });
    }
    const [group, ...others] = report.groups;
    expect(others).toEqual([]);
    expect(group).toMatchObject({ count: 100_000 });
    expect(group!.examples).toHaveLength(PREFLIGHT_EXAMPLES_MAX_COUNT);
    expect(group!.problems).toHaveLength(PREFLIGHT_PROBLEMS_MAX_COUNT);
  });
});
