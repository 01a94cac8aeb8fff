/**
 * Owns runs of the framework's agents within a function of ours. Models, tools and guardrails are replaced by ones that ask the function for a
 * recorded call; the framework's own loop stays as it is, and is called anew with the function. Whatever the loop awaits is recorded, so it
 * comes by the same way again.
 */

import {
  type Agent,
  type AgentInputItem,
  type FunctionTool,
  getHandoff,
  MemorySession,
  type NonStreamRunOptions,
  Runner,
  type RunResult,
} from '@openai/agents-core';
import { hasDynamicFunctionToolApprovalPolicy } from '@openai/agents-core/utils/internal';
import { canonicalJson, type Json } from '@tidemark/core';
import { defineEffect, type FunctionContext } from '@tidemark/sdk';
import { z } from 'zod';
import { itemsOf, keptItems } from './items.ts';
import { type AgentContext, type AnyAgent, RecordedAgents, type ToolRule, unfit } from './recorded-agents.ts';
import type { ModelRules } from './recorded-model.ts';
import { TidemarkSession } from './session.ts';

export interface RunAgentOptions<Context>
  extends Omit<
    NonStreamRunOptions<Context>,
    'stream' | 'session' | 'signal' | 'sandbox' | 'conversationId' | 'previousResponseId'
  > {
  /**
   * By a tool's name, what a second call of it would do; of one that isn't named it counts as `irreversible`: where the process dies within the
   * call, a person is asked.
   */
  readonly tools?: Readonly<Record<string, ToolRule>>;
  /** People may follow what its models say (`run.stream()`), from any place, whichever process goes on. The result is the same. */
  readonly stream?: boolean;
  /** Gives the conversation so far, and keeps the turn once the run has ended: as a whole, and once. */
  readonly session?: TidemarkSession;
  /** Its settings count. Without it, those of `new Runner({ tracingDisabled: true })`. */
  readonly runner?: Runner;
  /** The definition's approval by which a person answers for a tool that needs one. Default: `tool`, of which the form may be `z.object({})`. */
  readonly approval?: string;
  /** Who is to answer; anyone with the right where it is absent. */
  readonly assignee?: string;
  /** Of one call of a model, in milliseconds. Default: 10 min; at most an hour. */
  readonly modelTimeoutMs?: number;
  /** What a call of a model costs, in millionths of a US dollar, for budgets and lists: `defaultPrices().costMicros('openai', model, usage)` of @tidemark/ai. */
  readonly costMicros?: ModelRules['costMicros'];
}

/**
 * Runs an agent, as the framework's `run` does, within `run` of a function (`defineFunction`), so that it survives its process: each answer of a
 * model, each call of a tool and each guardrail is made once and recorded. For calls that need approval it waits, without a worker, and the
 * reason of a person who rejects one is what the model is told. Throws what the framework throws, and `CallFailedError` for a model that
 * failed for good, or a session that somebody else wrote meanwhile; `InvalidError` (`agent-unfit`) for what can't be recorded, and for a tool that
 * may need an approval which the definition doesn't declare.
 */
export async function runAgent<Context, TAgent extends AnyAgent>(
  ctx: AgentContext,
  agent: TAgent,
  input: string | AgentInputItem[],
  options: RunAgentOptions<Context> = {},
): Promise<RunResult<Context, TAgent>> {
  const { tools, runner: given, approval = 'tool', assignee, modelTimeoutMs, costMicros, ...more } = options;
  const { stream = false, session, ...rest } = more;
  if (typeof stream !== 'boolean') throw unfit('stream: give true or false.');
  if (session !== undefined && !(session instanceof TidemarkSession))
    throw unfit(
      'session: give a TidemarkSession. What another one was told could not be told again, or not told twice.',
    );
  if (!ctx.approvals.includes(approval)) await refuseAsking(agent, approval);
  const models = { isStreamed: stream, timeoutMs: modelTimeoutMs, costMicros };
  const agents = new RecordedAgents(ctx, { tools: tools ?? {}, models });
  const { config } = given ?? new Runner({ tracingDisabled: true });
  const { modelProvider, model, inputGuardrails, outputGuardrails } = config;
  const runner = new Runner({
    ...config,
    modelProvider: { getModel: async (name) => agents.model(await modelProvider.getModel(name), name ?? 'default') },
    ...(typeof model === 'object' && { model: agents.model(model, 'custom') }),
    inputGuardrails: agents.guardrails(inputGuardrails ?? []),
    outputGuardrails: agents.guardrails(outputGuardrails ?? []),
  });
  const recorded = agents.agent(agent);
  const turn = session && (await Turn.begin(ctx, session));
  const settings = { ...rest, ...(turn && { session: turn.local }) };
  let result = await runner.run(recorded, input, settings);
  while (result.interruptions.length > 0) {
    const { state, interruptions } = result;
    const asks = ctx as unknown as Pick<FunctionContext<never, Record<string, z.ZodType>>, 'approval'>;
    const answers = await ctx.all(
      interruptions.map((item) => () => {
        const { name = null, arguments: given = null } = item;
        const title = `May ${item.agent.name} call ${name ?? 'a tool'}?`;
        const detail = { agent: item.agent.name, tool: name, arguments: given };
        return asks.approval(approval, { title, detail, assignee });
      }),
    );
    for (const [at, { approved, why }] of answers.entries()) {
      const item = interruptions[at]!;
      if (approved) state.approve(item);
      else state.reject(item, why === null ? {} : { message: why });
    }
    result = await runner.run(recorded, state, settings);
  }
  await turn?.end();
  return result;
}

/** Throws `InvalidError` for a tool of the agents that may ask, where the definition declares nothing by which a person could answer. */
async function refuseAsking(agent: AnyAgent, approval: string): Promise<void> {
  const agents = new Set<AnyAgent>([agent]);
  for (const each of agents) {
    for (const handoff of each.handoffs) agents.add(getHandoff(handoff as Agent).agent);
    for (const tool of each.tools) {
      const { type, name, needsApproval } = tool as FunctionTool;
      if (type !== 'function' || needsApproval === undefined) continue;
      // What the framework makes of true or false takes nothing. A function of the user's is not called here.
      const says = needsApproval as () => Promise<boolean>;
      const mayAsk = hasDynamicFunctionToolApprovalPolicy({ needsApproval }) || (await says());
      if (!mayAsk) continue;
      const remedy = `approvals: { ${/^\w+$/.test(approval) ? approval : JSON.stringify(approval)}: z.object({}) }`;
      throw unfit(
        `Tool ${name} of agent ${each.name} may need an approval, and the definition declares none named ${approval}. Add ${remedy}.`,
      );
    }
  }
}

const TURN_REQUEST = z.object({ session: z.string(), after: z.string() });
const TURN_TIMEOUT_MS = 60_000;

/** One turn of a session: the framework has the conversation in memory, and what it made of that is kept at the end. */
class Turn {
  readonly local: MemorySession;
  readonly #ctx: AgentContext;
  readonly #session: TidemarkSession;
  readonly #id: string;
  readonly #after: string;
  readonly #before: readonly Json[];

  private constructor(
    ctx: AgentContext,
    session: TidemarkSession,
    { id, after, items }: { readonly id: string; readonly after: string; readonly items: Json[] },
  ) {
    [this.#ctx, this.#session, this.#id, this.#after, this.#before] = [ctx, session, id, after, items];
    this.local = new MemorySession({ sessionId: id, initialItems: itemsOf(items) });
  }

  static async begin(ctx: AgentContext, session: TidemarkSession): Promise<Turn> {
    const id = await session.getSessionId();
    const begun = await ctx.run('session', async () => ({ ...(await session.history()) }));
    return new Turn(ctx, session, { id, ...(begun as { readonly after: string; readonly items: Json[] }) });
  }

  async end(): Promise<void> {
    const now = keptItems(await this.local.getItems());
    const before = this.#before;
    const common = before.findIndex((item, at) => canonicalJson(item) !== canonicalJson(now[at] ?? null));
    const same = common === -1 ? before.length : common;
    const [drop, items] = [before.length - same, now.slice(same)];
    if (drop === 0 && items.length === 0) return;
    const effect = defineEffect({
      operation: 'session.turn',
      kind: 'idempotent',
      request: TURN_REQUEST,
      response: z.null(),
      timeoutMs: TURN_TIMEOUT_MS,
      retry: { nonRetryable: ['session-written-elsewhere'] },
      call: async ({ after }, { key }) => {
        await this.#session.addTurn(key, { after, drop, items });
        return null;
      },
    });
    await this.#ctx.effect(effect, { session: this.#id, after: this.#after });
  }
}
