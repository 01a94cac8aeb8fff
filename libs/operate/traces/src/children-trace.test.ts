/** Children in traces: linked both ways by ids that follow from the task; and what one of thousands costs does not rise with how many there are. */

import {
  addTasks,
  EMPTY_FRONTIER,
  type Envelope,
  type Frontier,
  type Sequence,
  type StreamState,
  type TaskDeclaration,
  taskId,
  updateTask,
} from '@tidemark/core';
import { childSpan, traceIdOf, workflowSpan } from '@tidemark/runtime';
import { child, defineWorkflow, task } from '@tidemark/sdk';
import { type TestWorld, testWorld } from '@tidemark/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { traceOf } from './history.ts';
import { WorkflowTrace } from './workflow-trace.ts';

const leaf = defineWorkflow({
  name: 'leaf',
  version: 1,
  input: z.object({}),
  belief: z.object({}),
  output: z.object({}),
  tasks: { grow: z.object({}) },
  flow: { grow: [] },
  begin: () => ({ belief: {}, next: [task('grow', {})] }),
  steps: { grow: () => ({ done: {} }) },
});

const tree = defineWorkflow({
  name: 'tree',
  version: 1,
  input: z.object({ count: z.number() }),
  belief: z.object({}),
  output: z.object({}),
  tasks: { branch: z.object({}), gather: z.object({}), end: z.object({}) },
  flow: { branch: ['gather', 'end'], gather: [], end: [] },
  starts: ['branch'],
  children: { leaf },
  begin: () => ({ belief: {}, next: [task('branch', {})] }),
  steps: {
    branch: ({ input }) => {
      const gathered = Array.from({ length: input.count }, () => task('gather', {}, { when: child('leaf', {}) }));
      return { next: [...gathered, task('end', {}, { after: gathered })] };
    },
    gather: () => ({}),
    end: () => ({ done: {} }),
  },
});

let world: TestWorld;
beforeAll(async () => {
  world = await testWorld({ workflows: [leaf, tree] });
});
afterAll(() => world.close());

test('a parent’s wait links to its child, and the child to that wait', async () => {
  const run = await world.start(tree, { count: 3 }, { id: 'tree-1' });
  await run.result();
  const { spans } = await traceOf(world.ports, run.id);
  const waits = spans.filter(({ name }) => name === 'wait child');
  const tasks = ['1.0', '1.1', '1.2'];
  expect(waits.map(({ spanId }) => spanId).toSorted()).toEqual(
    tasks.map((id) => childSpan(run.id, id as never)).toSorted(),
  );
  for (const id of tasks) {
    const leafId = `tree-1~${id}` as typeof run.id;
    const wait = waits.find(({ spanId }) => spanId === childSpan(run.id, id as never))!;
    expect(wait.links).toMatchObject([
      { traceId: traceIdOf(leafId), spanId: workflowSpan(leafId), attributes: { 'tidemark.link': 'child' } },
    ]);
    expect(wait.attributes).toMatchObject({
      'tidemark.child': leafId,
      'tidemark.wait.outcome': 'fulfilled',
      'tidemark.child.outcome': 'completed',
    });
    const root = (await traceOf(world.ports, leafId)).spans.find(({ parentSpanId }) => parentSpanId === null)!;
    expect(root.links).toMatchObject([
      { traceId: traceIdOf(run.id), spanId: wait.spanId, attributes: { 'tidemark.link': 'parent' } },
    ]);
  }
});

/** How often a frontier's tasks are read. */
interface Reads {
  count: number;
}

/** The frontier as it is, with every look at a task counted. */
function watched(frontier: Frontier, reads: Reads): Frontier {
  const { tasks } = frontier;
  const counted = {
    size: tasks.size,
    get(id: Parameters<typeof tasks.get>[0]) {
      reads.count++;
      return tasks.get(id);
    },
    find: (predicate: Parameters<typeof tasks.find>[0]) =>
      tasks.find((one) => {
        reads.count++;
        return predicate(one);
      }),
    *[Symbol.iterator]() {
      for (const one of tasks) {
        reads.count++;
        yield one;
      }
    },
  };
  return { ...frontier, tasks: counted as unknown as Frontier['tasks'] };
}

type Answer = (index: number) => { readonly type: Envelope['type']; readonly control: object };

/** Looks that the trace of a workflow takes at its tasks, while as many of them wait and are answered one after another, last first. */
function readsFor(count: number, when: (index: number) => TaskDeclaration['when'], answer: Answer): number {
  const reads: Reads = { count: 0 };
  const declared = Array.from({ length: count }, (_, index) => ({ step: 'gather', after: [], when: when(index) }));
  let frontier = addTasks(EMPTY_FRONTIER, 0 as Sequence, declared);
  const trace = new WorkflowTrace();
  const stateOf = (): StreamState =>
    ({
      ...{ status: 'open', lease: null, unreadable: null, ruling: null, shadow: false, compensates: null, position: 1 },
      frontier: watched(frontier, reads),
    }) as unknown as StreamState;
  const add = (type: string, control: object): number => {
    const envelope = { type, control, workflow: 'w', tenant: 't', ordinal: 0, atMs: 1, id: 'e' } as unknown as Envelope;
    return trace.add({ envelope, payload: new Uint8Array(), before: stateOf(), after: stateOf() }).length;
  };
  add('WorkflowOpened', { definition: 'd', version: 1, tasks: declared, compensates: null });
  let endedCount = 0;
  for (let left = count - 1; left >= 0; left--) {
    const { type, control } = answer(left);
    const id = 'task' in control ? (control.task as never) : taskId(0 as Sequence, count - 1 - left);
    const waiting = frontier.tasks.get(id)!;
    frontier = updateTask(frontier, {
      ...waiting,
      when: [],
      cause: { kind: 'signal', name: 'n', event: 'e' as never },
    });
    endedCount += add(type, control);
  }
  expect(endedCount).toBe(count);
  return reads.count;
}

describe('what one of many costs (W1)', () => {
  const childWhen = (index: number): TaskDeclaration['when'] => [{ kind: 'child', child: `w~0.${index}` as never }];
  const approvalWhen = (): TaskDeclaration['when'] => [{ kind: 'approval', name: 'n', askedAtMs: 1 }];
  const signalWhen = (): TaskDeclaration['when'] => [{ kind: 'signal', name: 'n' }];
  const shapes: readonly [string, (index: number) => TaskDeclaration['when'], Answer][] = [
    [
      'children',
      childWhen,
      (index) => ({
        type: 'ChildClosed',
        control: { task: `0.${index}`, child: `w~0.${index}`, outcome: 'completed' },
      }),
    ],
    [
      'approvals',
      approvalWhen,
      (index) => ({
        type: 'ApprovalGiven',
        control: { task: `0.${index}`, name: 'n', approved: true, by: 'someone' },
      }),
    ],
    ['tasks that wait for one signal', signalWhen, () => ({ type: 'SignalReceived', control: { name: 'n' } })],
  ];

  test.each(shapes)('%s: it is looked at no more often among 4,000 than among 250', (_, when, answer) => {
    const [few, many] = [readsFor(250, when, answer), readsFor(4_000, when, answer)];
    expect(few / 250).toBeLessThanOrEqual(5);
    expect(many / 4_000).toBeLessThanOrEqual(5);
  });
});
