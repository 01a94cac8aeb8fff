/** Owns runs of agents within a function, whose worker dies at each boundary; and what a person answers. */

import { setTimeout as wait } from 'node:timers/promises';
import {
  Agent,
  type AgentOutputItem,
  defineToolInputGuardrail,
  handoff,
  type Model,
  type RunContext,
  shellTool,
  ToolGuardrailFunctionOutputFactory,
  tool,
  Usage,
} from '@openai/agents-core';
import { assistantMessage, functionCall } from '@openai/agents-core/testing';
import { RefusedError } from '@tidemark/effects';
import { defineFunction } from '@tidemark/sdk';
import { crashEverywhere, type TestWorld, testWorld } from '@tidemark/testkit';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { currentCall, runAgent } from './index.ts';
import type { AnyAgent } from './recorded-agents.ts';
import type { RunAgentOptions } from './run.ts';

let world: TestWorld | undefined;
afterEach(async () => {
  await world?.close();
  world = undefined;
});

/** A model whose answers follow from its conversation alone, as a process knows it that begins anew. */
class Talker implements Model {
  readonly asked: string[] = [];
  readonly #answers: readonly AgentOutputItem[][];

  constructor(...answers: AgentOutputItem[][]) {
    this.#answers = answers;
  }

  async getResponse({ input }: Parameters<Model['getResponse']>[0]) {
    const items = typeof input === 'string' ? [] : input;
    const isAnswer = (item: object | undefined) =>
      item !== undefined &&
      (('role' in item && item.role === 'assistant') || ('type' in item && item.type === 'function_call'));
    const count = items.filter((item, at) => isAnswer(item) && !isAnswer(items[at - 1])).length;
    this.asked.push(JSON.stringify(items.at(-1) ?? input));
    const output = this.#answers[count];
    if (output === undefined) throw new Error(`no answer ${count}`);
    return { usage: new Usage({ inputTokens: 1, outputTokens: 2 }), output };
  }

  async *getStreamedResponse(): AsyncGenerator<never> {}
}

const call = (name: string, args: Record<string, unknown>, callId: string) => functionCall(name, args, { callId });
const says = (text: string) => [assistantMessage(text)];

/** What a receiver has done, by key. */
const receiver = () => {
  const done = new Map<string, number>();
  const calls: string[] = [];
  const charge = (needsApproval = false) =>
    tool({
      name: 'charge',
      description: 'charges',
      parameters: z.object({ cents: z.number() }),
      needsApproval,
      execute: async ({ cents }, context?: RunContext<{ total?: number }>) => {
        const { key } = currentCall()!;
        calls.push(key);
        done.set(key, cents);
        if (context?.context !== undefined) context.context.total = (context.context.total ?? 0) + cents;
        return { charged: cents };
      },
    });
  return { done, calls, charge };
};

const functionOf = (agent: AnyAgent, options: RunAgentOptions<{ total?: number }> = {}) =>
  defineFunction({
    name: 'support',
    version: 1,
    input: z.object({ prompt: z.string() }),
    output: z.object({ text: z.string(), last: z.string(), tokens: z.int(), total: z.int() }),
    approvals: { tool: z.object({}) },
    async run(ctx, { prompt }) {
      const context: { total?: number } = {};
      const result = await runAgent(ctx, agent, prompt, { context, ...options });
      const { usage } = result.state;
      return {
        text: String(result.finalOutput),
        last: result.lastAgent!.name,
        tokens: usage.totalTokens,
        total: context.total ?? 0,
      };
    },
  });

describe('a run whose worker dies at any boundary', () => {
  it('ends as the one that nobody killed, with each call under one key', async () => {
    let seen: string[] = [];
    const support = () => {
      const { charge } = receiver();
      const lookUp = tool({
        name: 'look_up',
        description: 'looks up',
        parameters: z.object({ order: z.string() }),
        execute: async ({ order }) => `${order} is late`,
      });
      const checks = { name: 'polite', execute: async () => ({ outputInfo: 'fine', tripwireTriggered: false }) };
      const billing: AnyAgent = new Agent({
        name: 'billing',
        model: new Talker(
          [],
          [],
          [call('charge', { cents: 5 }, 'c1'), call('charge', { cents: 7 }, 'c2')],
          says('Refunded.'),
        ),
        tools: [charge()],
        outputGuardrails: [checks],
        // They hand over in a circle.
        handoffs: [],
      });
      const triage = new Agent({
        name: 'triage',
        model: new Talker([call('look_up', { order: '8821' }, 'l1')], [call('transfer_to_billing', {}, 'h1')]),
        tools: [lookUp],
        inputGuardrails: [checks],
        handoffs: [handoff(billing, { onHandoff: () => void seen.push('handed over') })],
      });
      billing.handoffs.push(triage as never);
      return functionOf(triage, { tools: { charge: 'idempotent', look_up: 'pure' } });
    };
    const { outcome, boundaries } = await crashEverywhere({ workflows: [support()] }, async (world) => {
      seen = [];
      const run = await world.start(support(), { prompt: 'Where is my order?' });
      return run.result();
    });
    expect(outcome).toEqual({ text: 'Refunded.', last: 'billing', tokens: 12, total: 12 });
    expect(boundaries).toBeGreaterThan(30);
  });
});

describe('a call that needs a person', () => {
  const waiting = async (rule?: 'idempotent') => {
    const { done, calls, charge } = receiver();
    const model = new Talker([call('charge', { cents: 5 }, 'c1')], says('Done.'));
    const agent = new Agent({ name: 'clerk', model, tools: [charge(true)] });
    const support = functionOf(agent, { tools: { ...(rule && { charge: rule }) }, assignee: 'role:lead' });
    world = await testWorld({ workflows: [support] });
    const run = await world.start(support, { prompt: 'Charge 5' });
    const asked = await vi.waitFor(async () => {
      const { approvals } = await world!.client.approvals({});
      expect(approvals).toHaveLength(1);
      return approvals[0]!;
    });
    return { done, calls, model, run, asked };
  };

  it('waits for one, and is made once', async () => {
    const { done, calls, model, run, asked } = await waiting('idempotent');
    expect(asked).toMatchObject({ title: 'May clerk call charge?', assignee: 'role:lead' });
    expect(asked.detail).toEqual({ agent: 'clerk', tool: 'charge', arguments: '{"cents":5}' });
    expect(calls).toEqual([]);
    // Another process resumes from what is recorded.
    world!.crash({ after: 'EffectResolved', operation: 'tool.charge' });
    await world!.client.approve(run.id, asked.task, { approved: true, by: 'ana' });
    expect(await run.result()).toMatchObject({ text: 'Done.', total: 5 });
    expect([done.size, calls.length, model.asked.length, world!.crashCount]).toEqual([1, 1, 2, 1]);
  });

  it('is not made once it is rejected, and the model is told why', async () => {
    const { calls, model, run, asked } = await waiting();
    await world!.client.approve(run.id, asked.task, { approved: false, by: 'ana', why: 'too much' });
    expect(await run.result()).toMatchObject({ text: 'Done.', total: 0 });
    expect([calls, model.asked[1]]).toEqual([[], expect.stringContaining('too much')]);
  });

  it.each([
    ['nobody has named', 'asks a person', undefined, 'workflow-parked', 1],
    ['is idempotent', 'is made again', 'idempotent', 'completed', 2],
  ] as const)('that %s, and in which its process died, %s', async (_, __, rule, status, count) => {
    const { done, calls, run, asked } = await waiting(rule);
    world!.crash({ before: 'EffectResolved', operation: 'tool.charge' });
    await world!.client.approve(run.id, asked.task, { approved: true, by: 'ana' });
    const ended = run.result().then(
      () => 'completed',
      ({ code }: { readonly code: string }) => code,
    );
    expect(await world!.fastForward(ended)).toBe(status);
    expect([done.size, calls.length]).toEqual([1, count]);
    if (status === 'completed') return;
    // A person who has looked gives what the tool would have given, and no more.
    await world!.client.decide(run.id, { resolution: 'done', response: 'charged', by: 'ana', why: 'seen there' });
    expect(await world!.fastForward(run.result())).toMatchObject({ text: 'Done.' });
    expect(calls).toHaveLength(1);
  });
});

describe('ends in order', () => {
  const ended = async (agent: Agent) => {
    const support = functionOf(agent);
    world = await testWorld({ workflows: [support] });
    return world.fastForward((await world.start(support, { prompt: 'go' })).result());
  };

  it('where a guardrail stops it while another call is under way, which the framework awaits', async () => {
    const slow = (name: string, more: object = {}) =>
      tool({ name, description: name, parameters: z.object({}), execute: () => wait(20, 'late'), ...more });
    const stops = defineToolInputGuardrail({
      name: 'stops',
      run: async () => ToolGuardrailFunctionOutputFactory.throwException(),
    });
    const model = new Talker([call('late', {}, 'c1'), call('stopped', {}, 'c2')], says('never'));
    const tools = [slow('late'), slow('stopped', { inputGuardrails: [stops] })];
    const agent = new Agent({ name: 'a', model, tools });
    const support = defineFunction({
      name: 'guarded',
      version: 1,
      input: z.object({}),
      output: z.string(),
      run: async (ctx) => {
        try {
          return String((await runAgent(ctx, agent, 'go', { tools: { late: 'pure' } })).finalOutput);
        } catch (error) {
          return error instanceof Error ? error.constructor.name : 'none';
        }
      },
    });
    const { outcome } = await crashEverywhere({ workflows: [support] }, async (world) =>
      (await world.start(support, {})).result(),
    );
    expect(outcome).toBe('ToolCallError');
  });

  it('where the model fails for good, and where a tool would run without being recorded', async () => {
    const model = new Talker();
    model.getResponse = async () => Promise.reject(new RefusedError('no such model'));
    await expect(ended(new Agent({ name: 'a', model }))).rejects.toThrow(/no such model/);
    await world!.close();
    const shell = shellTool({ shell: { run: async () => ({ output: [] }) } });
    await expect(ended(new Agent({ name: 'a', model: new Talker(says('x')), tools: [shell] }))).rejects.toThrow(
      /Tool shell of agent a is a shell, which runs here without being recorded/,
    );
  });
});
