/** A workflow right after any of its checkpoints: the same from the log, and from segments once the log is trimmed. */

import { type Sequence, streamToJson, taskToJson, type WorkflowId, workflowId } from '@tidemark/core';
import { HOT_MS, SimulatedArchive } from '@tidemark/testkit/engine/simulated-archive';
import { definitionOf, effectOf } from '@tidemark/testkit/engine/simulated-definition';
import { SimulatedWorld } from '@tidemark/testkit/engine/simulated-world';
import { MemoryObjects } from '@tidemark/testkit/memory-objects';
import { SimulatedLog } from '@tidemark/testkit/simulated-log';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type PastWorkflow, workflowAt } from './workflow-at.ts';

const at = (sequence: number): Sequence => sequence as Sequence;
const plain = ({ state, content, checkpoint, opening }: PastWorkflow) => ({
  state: streamToJson(state),
  tasks: Array.from(state.frontier.tasks, taskToJson),
  inputs: Array.from(state.frontier.tasks, ({ id }) => content.inputOf(id)),
  belief: content.belief,
  input: content.input,
  checkpoint,
  opening,
});

describe('a workflow at a checkpoint', () => {
  const pay = effectOf({ call: async () => 'paid' });
  const counting = definitionOf({
    belief: { reached: 0 },
    next: [{ step: 'count', input: 1 }],
    steps: {
      async count(ctx, input) {
        const reached = input as number;
        if (reached === 2) await ctx.effect(pay, { reached });
        const next = reached < 3 ? [{ step: 'count', input: reached + 1 }] : [{ step: 'end', input: 'over' }];
        return { belief: () => ({ reached }), next, tokens: 10, lastAction: `counted ${reached}` };
      },
      end: (ctx) => ({ done: ctx.belief }),
    },
  });
  let world: SimulatedWorld;
  let workflow: WorkflowId;
  beforeEach(async () => {
    world = new SimulatedWorld(new SimulatedLog(2), 2);
    await world.coordinator.start();
    await world.worker([counting]);
    workflow = await world.start(counting, { of: 'three' });
    await world.until(workflow, 'completed');
  });
  afterEach(() => world.close());

  it.each([
    [0, { reached: 0 }, ['0.0 count 1'], 0, 1],
    [1, { reached: 1 }, ['1.0 count 2'], 10, 3],
    [3, { reached: 3 }, ['3.0 end "over"'], 30, 8],
    [4, { reached: 3 }, [], 30, 9],
  ])('%s: belief, frontier, totals and position as they were', async (sequence, belief, tasks, tokens, position) => {
    const past = await workflowAt(world.ports, workflow, at(sequence));
    const { state, content } = past;
    const pending = Array.from(state.frontier.tasks, ({ id, step }) => [id, step, JSON.stringify(content.inputOf(id))]);
    expect(pending.map((task) => task.join(' '))).toEqual(tasks);
    expect([content.belief, content.input, state.tokens, state.position]).toEqual([
      belief,
      { of: 'three' },
      tokens,
      position,
    ]);
    expect([state.head.sequence, state.status, past.checkpoint.sequence]).toEqual([sequence, 'open', sequence]);
    expect(past.opening).toMatchObject({ definition: 'd', version: 1, placement: 'exclusive' });
  });

  it.each([5, -1])('there is none with sequence %s, and the error says which there are', async (sequence) => {
    await expect(workflowAt(world.ports, workflow, at(sequence))).rejects.toMatchObject({
      code: 'sequence-unknown',
      message: `at: workflow w has checkpoints 1 to 4 (0 is its opening), and none with sequence ${sequence}.`,
    });
    await expect(workflowAt(world.ports, workflowId('nobody'), at(0))).rejects.toMatchObject({
      code: 'workflow-unknown',
    });
  });

  it('is told as damaged where rows and log don’t agree', async () => {
    const rows = world.ports.store.rows.get(workflow)!;
    const second = rows.checkpoints.findIndex((row) => row.sequence === 2);
    rows.checkpoints[second] = { ...rows.checkpoints[second]!, offset: rows.checkpoints[1]!.offset };
    await expect(workflowAt(world.ports, workflow, at(2))).rejects.toMatchObject({ code: 'history-differs' });
  });
});

describe('a workflow in a shared partition', () => {
  it('is told without the others', async () => {
    const shared = definitionOf({
      placement: 'shared',
      steps: { a: () => ({ next: [{ step: 'b', input: null }] }), b: (ctx) => ({ done: ctx.workflow }) },
    });
    const world = new SimulatedWorld(new SimulatedLog(1), 1);
    await world.coordinator.start();
    await world.worker([shared]);
    const ids = await Promise.all(['x', 'y', 'z'].map((id) => world.start(shared, { id }, { id })));
    for (const id of ids) await world.until(id, 'completed');
    for (const id of ids) {
      const { state, content } = await workflowAt(world.ports, id, at(1));
      expect([state.workflow, state.head.sequence, content.input]).toEqual([id, 1, { id }]);
    }
    await world.close();
  });
});

describe('an archived workflow', () => {
  let archive: SimulatedArchive<MemoryObjects>;
  beforeEach(() => {
    archive = new SimulatedArchive(
      () => new SimulatedLog(1),
      (place) => new MemoryObjects(place),
    );
  });
  afterEach(() => archive.close());

  it('is the same from every tier, at every sequence', async () => {
    const first = workflowId('first');
    await archive.run('before');
    await archive.run('first');
    const all = async () => {
      const ports = { log: archive.tiered(), store: archive.store() };
      return Promise.all([0, 1, 2].map(async (sequence) => plain(await workflowAt(ports, first, at(sequence)))));
    };
    const hot = await all();
    archive.ports.clock.jump(HOT_MS + 1);
    await archive.pass();
    expect(await archive.startOf()).toBeGreaterThan(0);
    expect(await archive.ports.store.withoutRows([first])).toEqual([first]);
    expect(await all()).toEqual(hot);
    // A fork continues from there as it would from the log.
    await archive.fork('first', 1, 'branch');
    await archive.finish('branch');
    const [row, base] = await Promise.all(
      ['branch', 'first'].map((id) => archive.ports.store.workflow(workflowId(id))),
    );
    expect(row).toMatchObject({ status: 'completed', fork: { workflow: 'first', sequence: 1 }, result: base!.result });
    // The control: without the view over all tiers there is nothing to fold.
    await expect(workflowAt({ log: archive.log, store: archive.store() }, first, at(1))).rejects.toThrow();
  });
});
