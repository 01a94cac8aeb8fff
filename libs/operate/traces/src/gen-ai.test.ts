/** Attributes of a model call's span, by the names of OpenTelemetry's GenAI conventions, from what is recorded of it. */

import { expect, test } from 'vitest';
import { answerAttributes, answerContent, chatSpan, invokeSpan, planSpan, providerName, toolSpan } from './gen-ai.ts';

const answer = {
  text: 'Hi',
  toolCalls: [],
  finishReason: 'stop',
  usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, reasoningTokens: 2, cacheWriteTokens: 1 },
  detail: { response: { id: 'chatcmpl-1', modelId: 'gpt-5.5-2026-04-01' } },
};

test('a call has its attributes, and nothing of its content', () => {
  const settings = {
    ...{ maxOutputTokens: 50, temperature: 0.5, topP: 1, topK: 3, seed: 7 },
    ...{ frequencyPenalty: 0.1, presencePenalty: 0.2, stopSequences: ['END'] },
  };
  expect(chatSpan({ provider: 'openai.responses', model: 'gpt-5.5', messages: 'f00', settings })).toEqual({
    name: 'chat gpt-5.5',
    attributes: {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-5.5',
      'gen_ai.request.max_tokens': 50,
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.top_p': 1,
      'gen_ai.request.top_k': 3,
      'gen_ai.request.seed': 7,
      'gen_ai.request.frequency_penalty': 0.1,
      'gen_ai.request.presence_penalty': 0.2,
      'gen_ai.request.stop_sequences': ['END'],
    },
  });
  expect(answerAttributes(answer)).toEqual({
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.response.id': 'chatcmpl-1',
    'gen_ai.response.model': 'gpt-5.5-2026-04-01',
    'gen_ai.usage.input_tokens': 10,
    'gen_ai.usage.output_tokens': 5,
    'gen_ai.usage.cache_read.input_tokens': 4,
    'gen_ai.usage.cache_creation.input_tokens': 1,
    'gen_ai.usage.reasoning.output_tokens': 2,
  });
});

test('what is not known is left out', () => {
  expect(chatSpan({ provider: 'acme.chat', model: 'm', settings: null }).attributes).toEqual({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'acme',
    'gen_ai.request.model': 'm',
  });
  expect(answerAttributes(null)).toEqual({});
});

test('content is there for those who ask for it', () => {
  expect(answerContent(answer)).toEqual({
    'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"text","content":"Hi"}],"finish_reason":"stop"}]',
  });
});

test('workflows, agents, plans and tools have the names of the conventions', () => {
  expect(invokeSpan('refund', false, undefined)).toEqual({
    name: 'invoke_workflow refund',
    attributes: { 'gen_ai.operation.name': 'invoke_workflow', 'gen_ai.agent.name': 'refund' },
  });
  expect(invokeSpan('researcher', true, 's1')).toMatchObject({
    name: 'invoke_agent researcher',
    attributes: { 'gen_ai.conversation.id': 's1' },
  });
  expect(planSpan('researcher').name).toBe('plan researcher');
  expect(toolSpan('search').name).toBe('execute_tool search');
});

test.each([
  ['openai.chat', 'openai'],
  ['anthropic.messages', 'anthropic'],
  ['google.generative-ai', 'gcp.gemini'],
  ['google.vertex.chat', 'gcp.vertex_ai'],
  ['vertex.anthropic.messages', 'gcp.vertex_ai'],
  ['azure-openai.chat', 'azure.ai.openai'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['mistral.chat', 'mistral_ai'],
  ['xai.chat', 'x_ai'],
  ['deepseek.chat', 'deepseek'],
])('%s is known as %s', (provider, name) => {
  expect(providerName(provider)).toBe(name);
});
