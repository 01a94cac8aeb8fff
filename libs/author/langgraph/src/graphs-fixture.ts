/** Owns graphs as a user compiles them, what the framework makes of each, and how a test runs them as runs. */

import {
  Annotation,
  Command,
  END,
  entrypoint,
  interrupt,
  MemorySaver,
  Send,
  START,
  StateGraph,
  task,
} from '@langchain/langgraph';
import type { Workflow } from '@tidemark/sdk';
import type { TestWorld } from '@tidemark/testkit';
import { eventually } from '@tidemark/testkit/eventually';
import type { CompiledGraph } from './durable-graph.ts';

export const List = Annotation.Root({
  done: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
/** What most graphs begin with. */
export const START_LIST = { done: ['x'] };
export const named = (name: string) => ({ name, version: 1, retry: { attempts: 1 }, onFailure: 'fail' }) as const;
export const says = (name: string) => () => ({ done: [name] });

/** The run's next question, once it asks. */
export const asked = (world: TestWorld, workflow: string, not: readonly string[] = []) =>
  eventually(async () => {
    const { approvals } = await world.client.approvals();
    return approvals.find((one) => one.workflow === workflow && !not.includes(one.task));
  });

/** Runs the graph, and answers what it asks, one question after the other. */
export async function ended(world: TestWorld, definition: Workflow, input: unknown, answers: readonly unknown[] = []) {
  const run = await world.start(definition as never, input as never);
  const seen: string[] = [];
  for (const value of answers) {
    const { task: waiting } = await asked(world, run.id, seen);
    seen.push(waiting);
    await world.client.approve(run.id, waiting, { approved: true, by: 'ana', value });
  }
  return run.result();
}

/** The same by the framework alone. */
export async function byFramework(
  graph: { checkpointer?: unknown } & CompiledGraph,
  input: unknown,
  answers: readonly unknown[],
) {
  const own = Object.create(graph, { checkpointer: { value: new MemorySaver() } });
  const config = { configurable: { thread_id: 't' } };
  let output = await own.invoke(input, config);
  for (const answer of answers) output = await own.invoke(new Command({ resume: answer }), config);
  return JSON.parse(JSON.stringify(output));
}

const inner = new StateGraph(List)
  .addNode('i1', says('i1'))
  .addNode('i2', () => ({ done: [`i2 ${interrupt('inner?')}`] }))
  .addNode('i3', says('i3'))
  .addNode('i4', says('i4'))
  .addEdge(START, 'i1')
  .addEdge('i1', 'i2')
  .addEdge('i2', 'i3')
  .addEdge('i2', 'i4')
  .addEdge('i4', END);

interface Case {
  readonly input?: unknown;
  readonly graph: CompiledGraph;
  /** Of its interrupts, in order. */
  readonly answers?: readonly unknown[];
}

export const GRAPHS: Readonly<Record<string, Case>> = {
  'a loop with a conditional edge': {
    graph: new StateGraph(List)
      .addNode('a', says('a'))
      .addNode('b', says('b'))
      .addEdge(START, 'a')
      .addConditionalEdges('a', ({ done }) => (done.length < 5 ? 'b' : END))
      .addEdge('b', 'a')
      .compile(),
  },
  'a conditional beginning, and branches that meet': {
    graph: new StateGraph(List)
      .addNode('a', says('a'))
      .addNode('b', says('b'))
      .addNode('c', says('c'))
      .addConditionalEdges(START, () => ['a', 'b'])
      .addEdge(['a', 'b'], 'c')
      .addEdge('c', END)
      .compile(),
  },
  'sends, a command, and a node that asks twice': {
    graph: new StateGraph(List)
      .addNode(
        'plan',
        () => new Command({ update: { done: ['plan'] }, goto: [1, 2, 3].map((n) => new Send('work', { n })) }),
        { ends: ['work'] },
      )
      .addNode('work', ({ n }: { n: number }) => ({
        done: [n === 2 ? `${interrupt('one?')} ${interrupt({ question: 'two?' })}` : `work ${n}`],
      }))
      .addNode('join', says('join'))
      .addEdge(START, 'plan')
      .addEdge('work', 'join')
      .compile(),
    answers: ['yes', { fine: true }],
  },
  'a subgraph that asks, beside another node': {
    graph: new StateGraph(List)
      .addNode('side', says('side'))
      .addNode('inner', inner.compile())
      .addNode('z', says('z'))
      .addEdge(START, 'side')
      .addEdge(START, 'inner')
      .addEdge('inner', 'z')
      .compile(),
    answers: ['yes'],
  },
  'a subgraph of its own memory, twice, and one that keeps nothing': {
    graph: new StateGraph(List)
      .addNode('inner', inner.compile({ checkpointer: true }))
      .addNode(
        'none',
        new StateGraph(List).addNode('n', says('n')).addEdge(START, 'n').compile({ checkpointer: false }),
      )
      .addEdge(START, 'inner')
      .addConditionalEdges('inner', ({ done }) => (done.length < 14 ? 'inner' : 'none'))
      .compile(),
    answers: ['yes', 'again'],
  },
  'a graph that a node invokes, and that asks': {
    graph: new StateGraph(List)
      .addNode('calls', async (_, config) => ({
        done: (await inner.compile().invoke({ done: ['within'] }, config)).done,
      }))
      .addEdge(START, 'calls')
      .compile(),
    answers: ['yes'],
  },
  'an error that its handler handles, beside another node': {
    graph: new StateGraph(List)
      .addNode(
        'fails',
        () => {
          throw new Error('no');
        },
        { errorHandler: says('handled') },
      )
      .addNode('b', says('b'))
      .addEdge(START, 'fails')
      .addEdge(START, 'b')
      .compile(),
  },
  'an entrypoint, which asks between its tasks': {
    input: { n: 2 },
    graph: entrypoint('main', async ({ n }: { n: number }) => {
      const doubled = await Promise.all([n, 2 * n].map((each) => task('double', async (x: number) => 2 * x)(each)));
      return [...doubled, interrupt('go on?'), await task('half', (x: number) => x / 2)(n)];
    }) as never,
    answers: ['yes'],
  },
};
