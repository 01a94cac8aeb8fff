/**
 * Owns what a node calls while a worker runs it, and what of that outlives an interrupt: the framework runs a node from its beginning once
 * a person has answered, and then the calls that it had made get what they got. It records nothing itself: the step's journal does.
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { RunnableConfig } from '@langchain/core/runnables';
import { Command, isCommand } from '@langchain/langgraph';
import { JsonPlusSerializer } from '@langchain/langgraph-checkpoint';
import { canonicalJson, InvalidError, type Json } from '@tidemark/core';
import { sha256Digest } from '@tidemark/runtime';
import type { StepActions } from '@tidemark/sdk';
import type { KeptValue } from './kept.ts';
import { Values } from './values.ts';

/** What a node of a durable graph can do besides computing: what is recorded is not done again when its process dies. */
export type NodeContext = Pick<
  StepActions,
  'run' | 'effect' | 'model' | 'recall' | 'log' | 'progress' | 'signal' | 'workflow' | 'traceparent'
>;

/** A call that a node has made before it was interrupted. */
export interface EarlierCall {
  readonly call: string;
  /** Digest of what it asked; null: nothing that counts. */
  readonly asks: string | null;
  readonly value: Json;
}

const values = new Values(new JsonPlusSerializer());
const running = new AsyncLocalStorage<NodeCalls>();

/** The calls of one run of a node. */
export class NodeCalls {
  readonly #ctx: StepActions;
  readonly #task: string;
  readonly #earlier: EarlierCall[];
  readonly #counts = new Map<string, number>();
  /** In the order in which they ended. */
  readonly made: EarlierCall[] = [];

  /** `task`: the framework's id of the node's task. */
  constructor(ctx: StepActions, task: string, earlier: readonly EarlierCall[]) {
    this.#ctx = ctx;
    this.#task = task;
    this.#earlier = [...earlier];
  }

  within<T>(body: () => Promise<T>): Promise<T> {
    return running.run(this, body);
  }

  get context(): NodeContext {
    const { workflow, traceparent, signal } = this.#ctx;
    return {
      ...{ workflow, traceparent, signal },
      log: (...about) => this.#ctx.log(...about),
      progress: (progress) => this.#ctx.progress(progress),
      run: (name, body) => this.#run(name, null, body) as never,
      effect: async (effect, request, options) => {
        if (effect.hasSecrets === true) throw secretEffect(effect.operation);
        const asks = digestOf(effect.parseRequest(request));
        const make = () => this.#ctx.effect(effect, request, options);
        return (await this.#once(`effect ${effect.operation}`, asks, make)) as never;
      },
      model: async (options) =>
        (await this.#once(`model ${options.name ?? ''}`, null, () => this.#ctx.model(options))) as never,
      recall: async (question, options) =>
        (await this.#once('recall', digestOf(question), () => this.#ctx.recall(question, options))) as never,
    };
  }

  /** Runs the closure, and records what it returns as the framework's serializer keeps it. `asks`: what tells it apart from others of its name. */
  async recorded<T>(name: string, asks: unknown, body: () => Promise<T>): Promise<T> {
    const asked = digestOf(await values.dumpJson(`what ${name} is given`, asks));
    const kept = await this.#run(
      name,
      asked,
      async () => (await values.dump(`result of ${name}`, await body())) as Json,
    );
    const value = await values.load(kept as KeptValue);
    // The serializer gives back its fields alone.
    return (isCommand(value) ? new Command(value as never) : value) as T;
  }

  #run(name: string, asks: string | null, body: (signal: AbortSignal) => unknown): Promise<Json> {
    const counted = `${name} ${asks ?? ''}`;
    const place = this.#counts.get(counted) ?? 0;
    this.#counts.set(counted, place + 1);
    const own = `${this.#task}:${asks ?? ''}:${place}`;
    return this.#once(`run ${name}`, asks, () => this.#ctx.run(name, body, { name: own }) as Promise<Json>);
  }

  /** The value of the earlier call, where there is one; else of a new one. */
  async #once(call: string, asks: string | null, make: () => Promise<unknown>): Promise<Json> {
    const at = this.#earlier.findIndex((each) => each.call === call && each.asks === asks);
    const [earlier] = at < 0 ? [] : this.#earlier.splice(at, 1);
    // Else what it did before it was interrupted would be done a second time, in other words.
    const isOther = earlier === undefined && call.startsWith('effect ');
    if (isOther && this.#earlier.some((each) => each.call === call)) throw otherCall(call);
    const value = earlier === undefined ? ((await make()) as Json) : earlier.value;
    this.made.push({ call, asks, value });
    return structuredClone(value);
  }
}

const digestOf = (asked: Json): string => sha256Digest.sha256(canonicalJson(asked)).slice(0, 16);

/** What the node that runs can call. Throws `InvalidError` (`node-missing`) outside of the nodes of a durable graph. */
export function nodeContext(): NodeContext {
  const calls = running.getStore();
  if (calls !== undefined) return calls.context;
  throw new InvalidError(
    'node-missing',
    'nodeContext() was called outside of a node of a durable graph: call it in the node, and in what the node calls.',
  );
}

/**
 * Has what a chat model or a tool of LangChain answers recorded, wherever a node of a durable graph invokes it: a node that begins anew gets
 * the same answer. It changes the object itself, so also what `bindTools` and `withStructuredOutput` make of it afterwards; outside of such
 * nodes nothing changes. What a tool does to the outside is done again if the process dies within it: call an effect in it.
 */
export function journaled<T extends { invoke(input: never, config?: never): Promise<unknown> }>(called: T): T {
  const invoke = called.invoke.bind(called) as (input: unknown, config?: RunnableConfig) => Promise<unknown>;
  const name = (called as { readonly name?: unknown }).name;
  const own = typeof name === 'string' && name !== '' ? name : called.constructor.name;
  called.invoke = ((input: unknown, config?: RunnableConfig) => {
    const calls = running.getStore();
    return calls === undefined ? invoke(input, config) : calls.recorded(own, input, () => invoke(input, config));
  }) as T['invoke'];
  return called;
}

const otherCall = (call: string): InvalidError =>
  new InvalidError(
    'node-changed',
    `${call}: before its interrupt the node asked something else of it. A node runs from its beginning once it is answered: take what differs from run to run (time, chance, an answer of a model) from nodeContext().run.`,
    { call },
  );

const secretEffect = (operation: string): InvalidError =>
  new InvalidError(
    'effect-secret',
    `${operation} has secret fields, and what a node calls is kept in clear until the node is done. Call it in a workflow or a function, beside the graph.`,
    { operation },
  );
