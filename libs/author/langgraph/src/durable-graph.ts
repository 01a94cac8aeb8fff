/**
 * Owns `durableGraph`: a compiled graph as a workflow. Each node is a task of the node's name, and the framework's own loop runs it: from the
 * checkpoint that belief has, for one superstep, after which it stops before the next. So a crash repeats the node that ran, and nothing
 * else, and what follows is decided by the framework alone. Decision 0095.
 *
 * D1 A superstep of one node is one checkpoint. One of several is a checkpoint for each node, and one that applies what they wrote.
 * D2 A node runs for one task of the framework, whose id derives from the checkpoint in belief: another attempt has the same.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Runnable, RunnableConfig } from '@langchain/core/runnables';
import { AsyncLocalStorageProviderSingleton } from '@langchain/core/singletons';
import { Command, GraphInterrupt, isGraphInterrupt, isInvalidResume, START } from '@langchain/langgraph';
import { JsonPlusSerializer } from '@langchain/langgraph-checkpoint';
import { InvalidError, type Json, messageOf } from '@tidemark/core';
import { ANY_STEP, type ApprovalOptions, type StepDefinition } from '@tidemark/runtime';
import {
  type AnyTask,
  approval,
  type Context,
  type ContextSpec,
  defineWorkflow,
  FatalError,
  type RunSpec,
  type Schema,
  task,
  type Workflow,
} from '@tidemark/sdk';
import { z } from 'zod';
import { beliefOf, type GraphKept, GraphState, isWhole, keptIn } from './graph-state.ts';
import { own } from './kept.ts';
import { type EarlierCall, NodeCalls } from './node-context.ts';
import { Values } from './values.ts';

/** The step that begins a graph, and applies what several nodes of a superstep wrote. */
const SUPERSTEP = 'superstep';
/** Supersteps of one run between two answers, by default: the framework's own limit. */
const RECURSION_DEFAULT_COUNT = 25;
/** Nodes of one superstep that run at once, by default. */
const PARALLEL_DEFAULT_COUNT = 64;
/** Characters of a question's title. */
const TITLE_MAX_CHARS = 200;

/** What is used of a graph that `compile()` gives. */
export interface CompiledGraph {
  readonly lg_is_pregel: boolean;
  nodes: Record<string, unknown>;
  readonly config?: { readonly recursionLimit?: number | undefined } | undefined;
  readonly checkpointer?: unknown;
  readonly interruptBefore?: unknown;
  readonly interruptAfter?: unknown;
  withConfig(config: Record<string, never>): unknown;
  invoke(input: never, config?: never): Promise<unknown>;
  getState(config: RunnableConfig): Promise<unknown>;
}

export interface DurableGraphOptions<Input extends Schema, Output extends Schema>
  extends Omit<RunSpec<Input, Output>, 'input' | 'output'>,
    Omit<ContextSpec, 'phases'> {
  /** What the graph begins with; any JSON when absent. */
  readonly input?: Input | undefined;
  /** What the graph returns, as JSON; any when absent. */
  readonly output?: Output | undefined;
  /** The form of a person's answer to `interrupt()`; any JSON when absent. */
  readonly answer?: Schema | undefined;
  /** How a person is asked; absent: anybody, with the interrupt's value. */
  readonly ask?: ((asked: { readonly node: string; readonly value: unknown }) => ApprovalOptions) | undefined;
  /** What `interrupt()` returns where the person refuses to answer; absent: the run fails. */
  readonly refused?: ((refusal: { readonly by: string; readonly why: string | null }) => unknown) | undefined;
  /** The most nodes of one run that run at once; default 64. */
  readonly parallel?: number | undefined;
}

/**
 * A graph that `compile()` gave, as a workflow: started, listed, resumed and steered as any other. `interrupt()` asks in the inbox. Throws
 * `InvalidError` (`graph-unfit`, `definition-invalid`).
 */
export function durableGraph<Input extends Schema = z.ZodJSONSchema, Output extends Schema = z.ZodJSONSchema>(
  graph: CompiledGraph,
  options: DurableGraphOptions<Input, Output>,
): Workflow<Input, Schema, Output> {
  const { answer = z.json(), ask, refused, parallel = PARALLEL_DEFAULT_COUNT, ...spec } = options;
  refuseUnfit(graph, spec.name);
  const steps = new GraphSteps(graph, { name: spec.name, ask, refused });
  const workflow = defineWorkflow({
    ...{ input: z.json(), output: z.json(), ...spec, parallel, belief: graphBelief, approvals: { answer } },
    tasks: { [SUPERSTEP]: nodeTask },
    flow: { [SUPERSTEP]: [] },
    begin: () => ({ belief: {}, next: [task(SUPERSTEP, {})] }),
    steps: { [SUPERSTEP]: (ctx: GraphContext, given: NodeTask) => steps.run(ctx, given) },
  } as never) as unknown as Workflow;
  // Nodes have any names, and the graph alone says which may follow.
  const any: StepDefinition = { ...workflow.steps.get(SUPERSTEP)!, name: ANY_STEP, mayAdd: new Set([ANY_STEP]) };
  return { ...workflow, flow: {}, steps: new Map([[ANY_STEP, any]]) } as unknown as Workflow<Input, Schema, Output>;
}

const graphBelief = z.unknown().refine(isWhole, {
  error:
    'it has no member ~graph, with which the graph goes on from its values: change values in the whole belief that show --json gives',
});

const nodeTask = z.object({
  /** The framework's id of the task; of the step `superstep`, of the checkpoint that it goes on from. */
  id: z.string().optional(),
  /** Whether the superstep has others. */
  isOne: z.boolean().optional(),
  /** Whether it has run before, so that the step that applies the superstep may not have waited for it. */
  isLate: z.boolean().optional(),
  /** The interrupt that a person has answered. */
  interrupt: z.string().optional(),
});
type NodeTask = z.infer<typeof nodeTask>;

type GraphContext = Context<Json, Json, unknown, string, { readonly 'approval answer': Schema }>;
type Kept = GraphKept<EarlierCall>;

/** What a step does with the graph. */
interface Pass {
  readonly ctx: GraphContext;
  /** The only task of the root that runs; undefined: all that are not done. */
  readonly only: string | undefined;
  readonly earlier: Kept['calls'];
  readonly kept: { [task: string]: readonly EarlierCall[] };
}

const passes = new AsyncLocalStorage<Pass>();

interface Steering {
  readonly name: string;
  readonly ask: DurableGraphOptions<Schema, Schema>['ask'];
  readonly refused: DurableGraphOptions<Schema, Schema>['refused'];
}

class GraphSteps {
  readonly #graph: CompiledGraph;
  readonly #limit: number;
  readonly #steering: Steering;
  readonly #values = new Values(new JsonPlusSerializer());

  constructor(graph: CompiledGraph, steering: Steering) {
    this.#graph = stepwise(graph, true);
    this.#limit = graph.config?.recursionLimit ?? RECURSION_DEFAULT_COUNT;
    this.#steering = steering;
  }

  async run(ctx: GraphContext, given: NodeTask) {
    const { step: node } = ctx;
    const { heads, open, calls }: Kept = keptIn(ctx.belief as Json);
    // Some wait for an answer or run again, or the superstep has been applied: those that run last bring this step again.
    if (node === SUPERSTEP && (open.length > 0 || heads['']?.id !== given.id)) return {};
    const only = given.isOne === true ? given.id : undefined;
    const state = new GraphState(heads, this.#limit, only);
    const before = state.root;
    const pass: Pass = { ctx, only, earlier: calls, kept: {} };
    const graph: CompiledGraph = Object.create(this.#graph, { checkpointer: { value: state } });
    const config = { configurable: { thread_id: ctx.workflow }, signal: ctx.signal };
    // What callers and people give is data, and no object of the framework's.
    const input = before === undefined ? structuredClone(ctx.input) : this.#resume(ctx, node, given);
    const settings = { ...config, durability: 'sync', interruptBefore: '*', recursionLimit: this.#limit };
    let output: unknown;
    try {
      output = await passes.run(pass, () => apart(() => graph.invoke(input as never, settings as never)));
    } catch (error) {
      if (given.interrupt === undefined || !isInvalidResume(error)) throw error;
      // What it asked before stands.
      const asked = await state.interrupt(given.interrupt);
      return { next: [await this.#asking(node, given, asked!, messageOf(error))], lastAction: `${node} asks again` };
    }
    // The framework takes a node that did not start any more for one that wrote nothing.
    ctx.signal.throwIfAborted();
    const beyond = state.beyondLimit;
    if (beyond !== undefined) throw beyondLimit(this.#limit, beyond);
    const isAnswered = given.interrupt !== undefined;
    if (pass.only !== undefined) return this.#one(node, given, state, pass);
    if (state.root === before) {
      const belief = beliefOf({ heads: state.heads(isAnswered), open, calls: { ...calls, ...pass.kept } });
      return { belief: () => belief, ...(await this.#again(node, given, state)) };
    }
    const { tasks } = (await graph.getState(config)) as { readonly tasks: readonly { id: string; name: string }[] };
    if (tasks.length === 0) return { done: await this.#values.dumpJson('output', output) };
    const next = tasks.map(({ id, name }) => task(name, { id, ...(tasks.length > 1 && { isOne: true }) }));
    const begun = tasks.length > 1 ? tasks.map(({ id }) => id) : [];
    const belief = beliefOf({ heads: state.heads(isAnswered), open: begun, calls: {} });
    return {
      belief: () => belief,
      next: tasks.length > 1 ? [...next, task(SUPERSTEP, { id: state.root }, { after: next })] : next,
    };
  }

  /** One node of several: what it wrote waits for the others. */
  async #one(node: string, given: NodeTask, state: GraphState, { only, kept }: Pass) {
    const merge = state.changes();
    const isDone = state.isDone(only!);
    return {
      belief: (belief: Json) => {
        const { heads, open, calls }: Kept = keptIn(belief);
        const left = isDone ? open.filter((id) => id !== only) : open;
        return beliefOf({ heads: merge(heads), open: left, calls: { ...calls, ...kept } });
      },
      ...(!isDone && (await this.#again(node, { ...given, isLate: true }, state))),
      ...(isDone && given.isLate && { next: [task(SUPERSTEP, { id: state.root }, { after: 'all' })] }),
    };
  }

  /** The node is not done: a person is asked first, or it is a subgraph that goes on with its next superstep. */
  async #again(node: string, given: NodeTask, state: GraphState): Promise<{ next: AnyTask[]; lastAction?: string }> {
    const asked = await state.interrupt();
    if (asked !== undefined) return { next: [await this.#asking(node, given, asked)], lastAction: `${node} asks` };
    const { interrupt: _, ...rest } = given;
    if (state.hasMoved) return { next: [task(node, rest)] };
    throw new FatalError(
      `Node ${node} of ${this.#steering.name} has neither ended nor asked a person: it can't go on.`,
    );
  }

  async #asking(node: string, given: NodeTask, { id, value }: { id: string; value?: unknown }, problem?: string) {
    const detail = await this.#values.dumpJson(`what ${node} asks`, value ?? null);
    const title = typeof detail === 'string' && detail.trim() !== '' ? detail : `${node} asks`;
    const asked: ApprovalOptions = this.#steering.ask?.({ node, value }) ?? {
      ...{ title: title.slice(0, TITLE_MAX_CHARS).toWellFormed(), detail },
    };
    const again = problem === undefined ? asked : { ...asked, detail: { asked: asked.detail ?? null, problem } };
    return task(node, { ...given, interrupt: id }, { when: approval('answer', again) });
  }

  /** What the framework is given to go on with. */
  #resume({ cause }: GraphContext, node: string, { interrupt }: NodeTask): Command | null {
    if (interrupt === undefined) return null;
    if (cause?.kind !== 'approval') throw new InvalidError('cause-missing', `Node ${node} was given no answer.`);
    const { approved, value, by, why } = cause;
    if (approved) return new Command({ resume: { [interrupt]: structuredClone(value) } });
    if (this.#steering.refused !== undefined) {
      return new Command({ resume: { [interrupt]: this.#steering.refused({ by, why }) ?? null } });
    }
    throw new FatalError(`${by} refused to answer node ${node}${why === null ? '' : `: ${why}`}.`);
  }
}

/** Runs the graph outside of all others: what runs a step may have been woken within a node of another run, and the framework would take it for a part of that. */
const apart = <T>(body: () => Promise<T>): Promise<T> =>
  AsyncLocalStorageProviderSingleton.runWithConfig(undefined, body, true);

/** What is used of a node. */
interface GraphNode {
  readonly bound: unknown;
  getNode(): Runnable | undefined;
}

const isGraph = (bound: unknown): bound is CompiledGraph => (bound as CompiledGraph | null)?.lg_is_pregel === true;

/** A copy of the graph whose nodes run for a step. Subgraphs stop before each superstep of theirs, so that it is recorded, unless they keep nothing. */
function stepwise(graph: CompiledGraph, isRoot: boolean): CompiledGraph {
  const copy = graph.withConfig({}) as { -readonly [Key in keyof CompiledGraph]: CompiledGraph[Key] };
  const nodes = Object.entries(graph.nodes as Record<string, GraphNode>);
  copy.nodes = Object.fromEntries(
    nodes.map(([name, node]) => {
      if (name === START) return [name, node];
      const stepping = Object.assign(Object.create(Object.getPrototypeOf(node)), node);
      if (isGraph(node.bound)) stepping.bound = stepwise(node.bound, false);
      stepping.getNode = () => {
        const runs: Runnable | undefined = node.getNode.call(stepping);
        if (runs === undefined) return undefined;
        const invoke = (input: unknown, config: RunnableConfig) => enter(runs, isRoot, input, config);
        return Object.create(runs, { invoke: { value: invoke } });
      };
      return [name, stepping];
    }),
  );
  if (!isRoot && graph.checkpointer !== false) copy.interruptBefore = '*';
  return copy;
}

/** What the framework hands a node. */
interface NodeConfig extends RunnableConfig {
  readonly executionInfo: { readonly taskId: string };
}

/** By these names the framework gives a node what runs a `task` of the functional API, and says to graphs in it that they go on from before. */
const CALL = '__pregel_call';
const RESUMING = '__pregel_resuming';

async function enter(runs: Runnable, isRoot: boolean, input: unknown, given: RunnableConfig): Promise<unknown> {
  const { ctx, only, earlier, kept } = passes.getStore()!;
  const { taskId } = (given as NodeConfig).executionInfo;
  // The framework takes it for a node that stops here, and goes on without it.
  if (isRoot && only !== undefined && taskId !== only) throw new GraphInterrupt([]);
  const before = own(earlier, taskId);
  const calls = new NodeCalls(ctx, taskId, before ?? []);
  const call = given.configurable?.[CALL];
  const recorded = (func: (...args: unknown[]) => Promise<unknown>, name: string, ...rest: unknown[]) =>
    call((...args: unknown[]) => calls.recorded(name, args, async () => func(...args)), name, ...rest);
  // Each superstep is a resumption of the run, and of a node where it has stopped before.
  const configurable = {
    ...given.configurable,
    [CALL]: recorded,
    ...(before === undefined && { [RESUMING]: undefined }),
  };
  const config = { ...given, configurable };
  try {
    return await calls.within(() => runs.invoke(input, config));
  } catch (error) {
    if (isGraphInterrupt(error)) kept[taskId] = calls.made;
    throw error;
  }
}

/** Throws `InvalidError` (`graph-unfit`), which names the part and what to do. */
function refuseUnfit(graph: CompiledGraph, name: string): void {
  const unfit = (why: string): never => {
    throw new InvalidError('graph-unfit', `durableGraph ${name}: ${why}`, { graph: name });
  };
  if (graph?.lg_is_pregel !== true) unfit('give what compile() returns, or the graph of an agent (agent.graph).');
  for (const field of ['interruptBefore', 'interruptAfter'] as const) {
    if ((graph[field] as { readonly length?: number } | undefined)?.length)
      unfit(`it was compiled with ${field}, which nobody could answer. Call interrupt() in the node.`);
  }
  if (Object.hasOwn(graph.nodes, SUPERSTEP))
    unfit(`node ${SUPERSTEP}: a step of the run is named so. Rename the node.`);
}

const beyondLimit = (limit: number, namespace: string): FatalError =>
  new FatalError(
    `Recursion limit of ${limit} reached${namespace === '' ? '' : ` in ${namespace}`} without hitting a stop condition. Bind a higher one to the graph: graph.withConfig({ recursionLimit }).`,
  );
