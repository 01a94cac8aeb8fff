/** Owns what stands in for an agent, its tools, guardrails and hand-offs while it is run within a function: each asks for a recorded call. */

import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type Agent,
  type FunctionTool,
  getHandoff,
  type Handoff,
  type Model,
  type RunContext,
  type Tool,
} from '@openai/agents-core';
import { type EffectKind, InvalidError, type Json } from '@tidemark/core';
import { defineEffect, type EffectContext, type EffectSpec, type FunctionContext } from '@tidemark/sdk';
import { z } from 'zod';
import { itemsOf, keptItems, plain } from './items.ts';
import { type ModelRules, parsed, recordedModel } from './recorded-model.ts';

// biome-ignore-start lint/suspicious/noExplicitAny: an agent of whatever context and output
export type AnyAgent = Agent<any, any>;
type AnyHandoff = Handoff<any, any>;
type AnyRunContext = RunContext<any>;
type AnyFunctionTool = FunctionTool<any, any, any>;
// biome-ignore-end lint/suspicious/noExplicitAny: an agent of whatever context and output

type ToolSpec = EffectSpec<typeof TOOL_REQUEST, ReturnType<typeof z.json>>;
/** What a second call of a tool would do; and, for an irreversible one, how to find out whether the first was made. */
export type ToolRule =
  | EffectKind
  | ({ readonly kind: EffectKind } & Pick<
      ToolSpec,
      'probe' | 'probeFences' | 'afterSilence' | 'retry' | 'limits' | 'timeoutMs'
    >);

const KINDS: readonly EffectKind[] = ['pure', 'idempotent', 'irreversible'];
const TOOL_REQUEST = z.object({ agent: z.string(), arguments: z.json() });

/** What a run of an agent needs of the function. */
export type AgentContext = Pick<FunctionContext<never, never>, 'run' | 'effect' | 'all' | 'modelCall' | 'approvals'> & {
  readonly approval: (...args: never[]) => unknown;
};

const calling = new AsyncLocalStorage<EffectContext>();

/** The call that a tool makes: `key`, which stays the same when it is made again, for its receiver, and `signal`. Undefined outside of `runAgent`. */
export const currentCall = (): EffectContext | undefined => calling.getStore();

interface Guardrail {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: input, output, and what a guardrail finds are the framework's
  execute(args: any): Promise<any>;
}

export class RecordedAgents {
  readonly #ctx: AgentContext;
  readonly #rules: Readonly<Record<string, ToolRule>>;
  readonly #models: ModelRules;
  readonly #agents = new Map<AnyAgent, AnyAgent>();

  /** Throws `InvalidError` (`agent-unfit`). */
  constructor(
    ctx: AgentContext,
    options: { readonly tools: Readonly<Record<string, ToolRule>>; readonly models: ModelRules },
  ) {
    this.#ctx = ctx;
    for (const [name, rule] of Object.entries(options.tools)) {
      const kind = typeof rule === 'string' ? rule : rule?.kind;
      if (!KINDS.includes(kind))
        throw unfit(`tools.${name}: give one of ${KINDS.join(', ')}, or an object with it as its kind.`);
    }
    this.#rules = options.tools;
    this.#models = options.models;
  }

  /** It is the agent itself but for what it calls. The same one for the same agent, since agents may hand over in a circle. */
  agent<TAgent extends AnyAgent>(agent: TAgent): TAgent {
    const known = this.#agents.get(agent);
    if (known !== undefined) return known as TAgent;
    const recorded: TAgent = Object.create(agent);
    this.#agents.set(agent, recorded);
    this.#agents.set(recorded, recorded);
    const { model, handoffs, inputGuardrails, outputGuardrails } = agent;
    return Object.assign(recorded, {
      model: typeof model === 'string' ? model : this.model(model, 'custom'),
      handoffs: handoffs.map((each: AnyAgent | AnyHandoff) => this.#handoff(getHandoff(each))),
      inputGuardrails: this.guardrails(inputGuardrails),
      outputGuardrails: this.guardrails(outputGuardrails),
      getAllTools: async (...of: Parameters<AnyAgent['getAllTools']>) =>
        (await agent.getAllTools(...of)).map((tool: Tool) => this.#tool(tool, agent.name)),
    });
  }

  model(model: Model, name: string): Model {
    return recordedModel(this.#ctx, model, name, this.#models);
  }

  guardrails<G extends Guardrail>(guardrails: readonly G[]): G[] {
    return guardrails.map((each) => ({
      ...each,
      execute: (args: unknown) => this.#record(`guardrail ${each.name}`, () => each.execute(args)),
    }));
  }

  #handoff(handoff: AnyHandoff): AnyHandoff {
    return handoff.clone({
      agent: this.agent(handoff.agent),
      onInvokeHandoff: async (context, args) => {
        await this.#record(
          `handoff ${handoff.agentName}`,
          async () => void (await handoff.onInvokeHandoff(context, args)),
        );
        return this.agent(handoff.agent);
      },
    });
  }

  #tool(tool: Tool, agent: string): Tool {
    if (tool.type !== 'function') {
      if (tool.type === 'hosted_tool') return tool;
      throw unfit(`Tool ${tool.name} of agent ${agent} is a ${tool.type}, which runs here without being recorded.`);
    }
    const recorded: AnyFunctionTool = {
      ...tool,
      inputGuardrails: (tool.inputGuardrails ?? []).map((each) => ({
        ...each,
        run: (data) => this.#record(`guardrail ${each.name}`, () => each.run(data)),
      })),
      outputGuardrails: (tool.outputGuardrails ?? []).map((each) => ({
        ...each,
        run: (data) => this.#record(`guardrail ${each.name}`, () => each.run(data)),
      })),
      invoke: async (context, input, details) => {
        const given = Object.hasOwn(this.#rules, tool.name) ? this.#rules[tool.name]! : 'irreversible';
        const effect = defineEffect({
          ...(typeof given === 'string' ? { kind: given } : given),
          operation: `tool.${tool.name.replaceAll(/[^\w.-]/g, '-')}`,
          request: TOOL_REQUEST,
          response: z.json(),
          call: async (_, call) =>
            calling.run(call, async () => {
              const before = membersOf(context);
              const output = await tool.invoke(context, input, { ...details, signal: call.signal });
              return { output: keptOutput(output), changed: changedMembers(before, membersOf(context)) };
            }),
        });
        const outcome = await this.#ctx.effect(effect, { agent, arguments: parsed(input) });
        const { output, changed } = toolOutcome(outcome);
        restore(context, changed);
        return itemsOf([output])[0];
      },
    };
    return recorded;
  }

  /** What a guardrail or a hand-off finds; it changes nothing outside. */
  #record<T>(name: string, body: () => Promise<T> | T): Promise<T> {
    return this.#ctx.run(name, async () => plain((await body()) ?? null)) as Promise<T>;
  }
}

export const unfit = (message: string): InvalidError => new InvalidError('agent-unfit', message);

const TOOL_OUTCOME = z.strictObject({ output: z.json(), changed: z.record(z.string(), z.json()) });

/** A person who answers for a call gives the tool's output alone. */
function toolOutcome(recorded: unknown): { readonly output: Json; readonly changed: Readonly<Record<string, Json>> } {
  const known = TOOL_OUTCOME.safeParse(recorded);
  return known.success ? known.data : { output: recorded as Json, changed: {} };
}

/** With its bytes where it is JSON besides; otherwise as its model would be told it. */
function keptOutput(output: unknown): Json {
  try {
    return keptItems([output ?? null])[0]!;
  } catch {
    return plain(output);
  }
}

type Members = ReadonlyMap<string, string>;

/** Members of the run's context that are JSON, by which tools hand things to each other. */
function membersOf({ context }: AnyRunContext): Members {
  if (typeof context !== 'object' || context === null) return new Map();
  return new Map(
    Object.entries(context).flatMap(([name, value]) => {
      try {
        const text = JSON.stringify(value);
        return text === undefined ? [] : [[name, text] as const];
      } catch {
        return [];
      }
    }),
  );
}

const changedMembers = (before: Members, after: Members): Readonly<Record<string, Json>> =>
  Object.fromEntries(
    [...after].flatMap(([name, text]) => (before.get(name) === text ? [] : [[name, JSON.parse(text) as Json]])),
  );

/** A tool that isn't called again leaves there what it left when it was. */
function restore(context: AnyRunContext, changed: Readonly<Record<string, Json>>): void {
  const now = membersOf(context);
  for (const [name, value] of Object.entries(changed)) {
    if (now.get(name) !== JSON.stringify(value)) context.context[name] = structuredClone(value);
  }
}
