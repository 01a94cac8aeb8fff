/** Owns what both refund agents use: the model, their tools and effects, and the child that restocks a line. */

import type { Model, ModelPrompt, ModelToolCall } from '@tidemark/runtime';
import { defineEffect, defineFunction, done, notDone, tool } from '@tidemark/sdk';
import { tokenizerFor } from '@tidemark/tokenizer';
import { z } from 'zod';
import { ask, doneUnder } from './outside.ts';

const orders: Readonly<Record<string, { readonly cents: number; readonly lines: readonly string[] }>> = {
  o1: { cents: 9_900, lines: ['lamp', 'bulb'] },
};

export const refundInput = z.object({ order: z.string(), cents: z.int() });

export const tag = defineEffect({
  operation: 'tickets.tag',
  kind: 'idempotent',
  request: z.object({ ticket: z.string(), label: z.string() }),
  response: z.json(),
  call: async ({ ticket, label }, { key }) => ({ id: await ask(`tag ${ticket} ${label}`, key) }),
});

export const issueRefund = defineEffect({
  operation: 'payments.refund',
  kind: 'irreversible',
  request: refundInput,
  response: z.object({ id: z.string() }),
  call: async ({ order, cents }, { key }) => ({ id: await ask(`refund ${order} ${cents}`, key) }),
  probe: async (key) => {
    const id = doneUnder(key);
    return id === undefined ? notDone() : done({ id });
  },
});

export const linesOf = (order: string): readonly string[] => orders[order]?.lines ?? [];

export const lookup = tool({
  description: 'What an order costs, and its lines.',
  input: z.object({ order: z.string() }),
  run: ({ order }) => orders[order] ?? `There is no order ${order}.`,
});

export const tagTicket = tool({
  description: 'Labels the ticket.',
  input: z.object({ ticket: z.string(), label: z.string() }),
  effect: tag,
});

const restocked = defineEffect({
  operation: 'stock.add',
  kind: 'idempotent',
  request: z.object({ line: z.string() }),
  response: z.json(),
  call: async ({ line }, { key }) => ({ id: await ask(`restock ${line}`, key) }),
});

export const restock = defineFunction({
  name: 'restock',
  version: 1,
  input: z.object({ line: z.string() }),
  output: z.json(),
  effects: [restocked],
  run: (ctx, { line }) => ctx.effect(restocked, { line }),
});

const plan = ({ messages }: ModelPrompt): { readonly text: string; readonly toolCalls: readonly ModelToolCall[] } => {
  const results = messages.filter(({ role }) => role === 'tool');
  const call = (id: string, name: string, input: Record<string, string | number>) => ({ id, name, input });
  if (results.length === 0) return { text: '', toolCalls: [call('1', 'lookup', { order: 'o1' })] };
  if (results.length > 1) return { text: `Done: ${JSON.stringify(results.at(-1)!.content)}`, toolCalls: [] };
  const refund = call('3', 'refund', { order: 'o1', cents: 9_900 });
  return { text: '', toolCalls: [call('2', 'tag', { ticket: 't1', label: 'refund' }), refund] };
};

/** Stands for a model: looks the order up, tags the ticket and asks for the refund at once, and then says what came of it. */
export const model: Model = {
  provider: 'rule',
  modelId: 'refunds-1',
  tokenizer: tokenizerFor(),
  maxOutputTokens: 1_000,
  timeoutMs: 10_000,
  retry: { attempts: 1, firstDelayMs: 0, factor: 1, maxDelayMs: 0, jitter: 0, nonRetryable: [] },
  costMicros: () => 0,
  answer: async (prompt) => {
    const { text, toolCalls } = plan(prompt);
    return {
      text,
      toolCalls,
      finishReason: toolCalls.length > 0 ? 'tool-calls' : 'stop',
      usage: { inputTokens: 100, outputTokens: 10, cachedInputTokens: 0, reasoningTokens: 0 },
      detail: null,
    };
  },
};
