/**
 * Owns every name that spans have from OpenTelemetry's GenAI semantic conventions, as of one version of them, and which part of a recorded
 * call has which name. The conventions are in development and change: a move to another version changes this file and no other. Pure.
 *
 * v0.1.0 of https://github.com/open-telemetry/semantic-conventions-genai (docs/gen-ai: gen-ai-spans.md, gen-ai-agent-spans.md,
 * execute-tool.md). Since then a workflow's name is `gen_ai.agent.name`, as an agent's is; `gen_ai.operation.name` distinguishes them.
 */

import { type Json, type Spend, spendJson } from '@tidemark/core';
import type { SpanAttributes } from './span.ts';

const OPERATION = 'gen_ai.operation.name';
const AGENT = 'gen_ai.agent.name';

/** The span of a whole workflow: `invoke_agent` where models decide what is done in it. */
export const invokeSpan = (definition: string, isAgent: boolean, session: string | undefined) => {
  const operation = isAgent ? 'invoke_agent' : 'invoke_workflow';
  return {
    name: `${operation} ${definition}`,
    attributes: present({ [OPERATION]: operation, [AGENT]: definition, 'gen_ai.conversation.id': session }),
  };
};

/** The span of a step that works out what to do next. */
export const planSpan = (definition: string) => ({
  name: `plan ${definition}`,
  attributes: { [OPERATION]: 'plan', [AGENT]: definition } as SpanAttributes,
});

export const toolSpan = (tool: string) => ({
  name: `execute_tool ${tool}`,
  attributes: { [OPERATION]: 'execute_tool', 'gen_ai.tool.name': tool } as SpanAttributes,
});

/** The span of a model's call, by its recorded request. */
export function chatSpan(request: Json) {
  const model = textOf(member(request, 'model')) ?? 'unknown';
  return {
    name: `chat ${model}`,
    attributes: present({
      [OPERATION]: 'chat',
      'gen_ai.provider.name': providerName(textOf(member(request, 'provider')) ?? 'unknown'),
      'gen_ai.request.model': model,
      ...settingsOf(member(request, 'settings')),
    }),
  };
}

function settingsOf(settings: Json | undefined): Attributes {
  const number = (name: string): number | undefined => numberOf(member(settings, name));
  const stops = member(settings, 'stopSequences');
  return {
    'gen_ai.request.max_tokens': number('maxOutputTokens'),
    'gen_ai.request.temperature': number('temperature'),
    'gen_ai.request.top_p': number('topP'),
    'gen_ai.request.top_k': number('topK'),
    'gen_ai.request.frequency_penalty': number('frequencyPenalty'),
    'gen_ai.request.presence_penalty': number('presencePenalty'),
    'gen_ai.request.seed': number('seed'),
    'gen_ai.request.stop_sequences': Array.isArray(stops) && stops.length > 0 ? stops.map(String) : undefined,
  };
}

/** Attributes of its recorded answer. */
export function answerAttributes(answer: Json): SpanAttributes {
  const usage = member(answer, 'usage');
  const response = member(member(answer, 'detail'), 'response');
  const reason = textOf(member(answer, 'finishReason'));
  const tokens = (name: string): number | undefined => numberOf(member(usage, name));
  const reasoning = tokens('reasoningTokens');
  return present({
    'gen_ai.response.finish_reasons': reason === undefined ? undefined : [reason],
    'gen_ai.response.id': textOf(member(response, 'id')),
    'gen_ai.response.model': textOf(member(response, 'modelId')),
    'gen_ai.usage.input_tokens': tokens('inputTokens'),
    'gen_ai.usage.output_tokens': tokens('outputTokens'),
    'gen_ai.usage.cache_read.input_tokens': tokens('cachedInputTokens'),
    'gen_ai.usage.cache_creation.input_tokens': tokens('cacheWriteTokens'),
    'gen_ai.usage.reasoning.output_tokens': reasoning === 0 ? undefined : reasoning,
  });
}

/** Tokens and money of a call, a step or a workflow; without those that are 0, or have no price. */
export function spendAttributes(spend: Spend): SpanAttributes {
  const { tokens, cost_micros, estimated_tokens, unpriced_tokens, unknown } = spendJson(spend);
  const some = (amount: number | null | undefined): number | undefined => (amount ? amount : undefined);
  return present({
    'tidemark.tokens': some(tokens),
    'tidemark.cost_micros': some(cost_micros),
    'tidemark.estimated_tokens': estimated_tokens,
    'tidemark.unpriced_tokens': unpriced_tokens,
    'tidemark.unknown_calls': unknown?.calls,
    'tidemark.unknown_tokens': unknown?.tokens,
    'tidemark.unknown_cost_micros': unknown?.cost_micros,
  });
}

/** Attributes that hold requests and answers of models, tools and effects. */
export const CONTENT_ATTRIBUTES: ReadonlySet<string> = new Set([
  'gen_ai.output.messages',
  'gen_ai.tool.call.arguments',
  'gen_ai.tool.call.result',
  'tidemark.effect.request',
]);

/** The model's answer: content, so only where content is enabled. */
export const answerContent = (answer: Json): SpanAttributes => {
  const [text, calls] = [textOf(member(answer, 'text')), member(answer, 'toolCalls')];
  const parts = [
    ...(text ? [{ type: 'text', content: text }] : []),
    ...(Array.isArray(calls) ? calls.map((call) => toolCallPart(call as Json)) : []),
  ];
  const message = { role: 'assistant', parts, finish_reason: textOf(member(answer, 'finishReason')) ?? 'stop' };
  return { 'gen_ai.output.messages': JSON.stringify([message]) };
};

const toolCallPart = (call: Json) => ({
  type: 'tool_call',
  id: member(call, 'id') ?? null,
  name: member(call, 'name') ?? null,
  arguments: member(call, 'input') ?? null,
});

/** Input and output of a tool: content as well. */
export const toolContent = (request: Json | undefined, response: Json | undefined): SpanAttributes =>
  present({
    'gen_ai.tool.call.arguments': request === undefined ? undefined : JSON.stringify(request),
    'gen_ai.tool.call.result': response === undefined ? undefined : JSON.stringify(response),
  });

/** The conventions' names of providers, by the AI SDK's names. */
const PROVIDERS: readonly (readonly [RegExp, string])[] = [
  [/^(?:google[.-])?vertex/, 'gcp.vertex_ai'],
  [/^google/, 'gcp.gemini'],
  [/^azure/, 'azure.ai.openai'],
  [/^(?:amazon-)?bedrock/, 'aws.bedrock'],
  [/^mistral/, 'mistral_ai'],
  [/^xai/, 'x_ai'],
  [/^moonshot/, 'moonshot_ai'],
];

/** `openai.responses` is `openai`; a provider that the conventions don't know keeps its name. */
export function providerName(provider: string): string {
  const known = PROVIDERS.find(([form]) => form.test(provider));
  return known?.[1] ?? provider.split('.')[0] ?? provider;
}

type Attributes = Record<string, string | number | boolean | readonly string[] | undefined>;

const member = (value: Json | undefined, name: string): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, Json>>)[name]
    : undefined;
const numberOf = (value: Json | undefined): number | undefined => (typeof value === 'number' ? value : undefined);
const textOf = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

/** Attributes without the undefined ones. (Copied where one is missing: an object with a deleted property stays slow.) */
export function present(attributes: Attributes): SpanAttributes {
  let isWhole = true;
  for (const name in attributes) if (attributes[name] === undefined) isWhole = false;
  if (isWhole) return attributes as SpanAttributes;
  const known: Record<string, NonNullable<Attributes[string]>> = {};
  for (const name in attributes) {
    const value = attributes[name];
    if (value !== undefined) known[name] = value;
  }
  return known;
}
