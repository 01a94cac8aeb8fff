/**
 * Owns runs of the framework's agents within a function of ours. Models, tools and guardrails are replaced by ones that ask the function for a
 * recorded call; the framework's own loop stays as it is, and is called anew with the function. Whatever the loop awaits is recorded, so it
 * comes by the same way again.
 */

import { type AgentInputItem, type NonStreamRunOptions, Runner, type RunResult } from '@openai/agents-core';
import type { FunctionContext } from '@tidemark/sdk';
import type { z } from 'zod';
import { type AgentContext, type AnyAgent, RecordedAgents, type ToolRule } from './recorded-agents.ts';

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
  /** Its settings count. Without it, those of `new Runner({ tracingDisabled: true })`. */
  readonly runner?: Runner;
  /** The definition's approval by which a person answers for a tool that needs one. Default: `tool`, of which the form may be `z.object({})`. */
  readonly approval?: string;
  /** Who is to answer; anyone with the right where it is absent. */
  readonly assignee?: string;
  /** Of one call of a model, in milliseconds. Default: 10 min; at most an hour. */
  readonly modelTimeoutMs?: number;
}

/**
 * Runs an agent, as the framework's `run` does, within `run` of a function (`defineFunction`), so that it survives its process: each answer of a
 * model, each call of a tool and each guardrail is made once and recorded. For calls that need approval it waits, without a worker, and the
 * reason of a person who rejects one is what the model is told. Throws what the framework throws, and `CallFailedError` for a model that
 * failed for good; `InvalidError` (`agent-unfit`) for what can't be recorded.
 */
export async function runAgent<Context, TAgent extends AnyAgent>(
  ctx: AgentContext,
  agent: TAgent,
  input: string | AgentInputItem[],
  options: RunAgentOptions<Context> = {},
): Promise<RunResult<Context, TAgent>> {
  const { tools, runner: given, approval = 'tool', assignee, modelTimeoutMs, ...rest } = options;
  const agents = new RecordedAgents(ctx, { tools: tools ?? {}, modelTimeoutMs });
  const { config } = given ?? new Runner({ tracingDisabled: true });
  const { modelProvider, model, inputGuardrails, outputGuardrails } = config;
  const runner = new Runner({
    ...config,
    modelProvider: { getModel: async (name) => agents.model(await modelProvider.getModel(name), name ?? '') },
    ...(typeof model === 'object' && { model: agents.model(model, '') }),
    inputGuardrails: agents.guardrails(inputGuardrails ?? []),
    outputGuardrails: agents.guardrails(outputGuardrails ?? []),
  });
  const recorded = agents.agent(agent);
  let result = await runner.run(recorded, input, rest);
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
    result = await runner.run(recorded, state, rest);
  }
  return result;
}
