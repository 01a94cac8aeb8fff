/**
 * Owns the names by which OpenTelemetry's GenAI semantic conventions know a model call (open-telemetry/semantic-conventions-genai,
 * docs/gen-ai/gen-ai-spans.md, "Inference"; status there: development). Content is never among them. Pure.
 */

import type { Json } from '@tidemark/core';
import type { ModelAnswer, ModelRequest } from '@tidemark/runtime';
import type { PricedUsage } from './price.ts';

export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/** What attributes tell of a request. */
export type TracedRequest = Pick<ModelRequest, 'settings' | 'responseSchema' | 'isStreamed'>;

/** The conventions' names of providers, by how the AI SDK names them. */
const PROVIDERS: readonly (readonly [RegExp, string])[] = [
  [/^(?:google[.-])?vertex/, 'gcp.vertex_ai'],
  [/^google/, 'gcp.gemini'],
  [/^azure/, 'azure.ai.openai'],
  [/^(?:amazon-)?bedrock/, 'aws.bedrock'],
  [/^mistral/, 'mistral_ai'],
  [/^xai/, 'x_ai'],
  [/^moonshot/, 'moonshot_ai'],
];

/** The span's name. */
export const genAiSpanName = (modelId: string): string => `chat ${modelId}`;

/** Attributes of a call's span; without an answer those that are known when it begins. */
export function genAiAttributes(
  provider: string,
  modelId: string,
  request: TracedRequest,
  answer?: Omit<ModelAnswer, 'latencyMs' | 'costMicros'>,
): SpanAttributes {
  return withoutNothing({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': providerName(provider),
    'gen_ai.request.model': modelId,
    ...requestAttributes(request),
    ...(answer === undefined ? {} : answerAttributes(answer)),
  });
}

/** `openai.responses` is `openai`; one that the conventions don't know keeps its name. */
export function providerName(provider: string): string {
  const known = PROVIDERS.find(([form]) => form.test(provider));
  return known?.[1] ?? provider.split('.')[0] ?? provider;
}

type Attributes = Record<string, string | number | boolean | readonly string[] | undefined>;

function requestAttributes({ settings, responseSchema, isStreamed }: TracedRequest): Attributes {
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
    'gen_ai.request.stream': isStreamed === true ? true : undefined,
    'gen_ai.output.type': (responseSchema ?? null) !== null ? 'json' : undefined,
  };
}

function answerAttributes({ finishReason, usage, detail }: Omit<ModelAnswer, 'latencyMs' | 'costMicros'>): Attributes {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, cacheWriteTokens }: PricedUsage = usage;
  const response = member(detail, 'response');
  return {
    'gen_ai.response.finish_reasons': [finishReason],
    'gen_ai.response.id': textOf(member(response, 'id')),
    'gen_ai.response.model': textOf(member(response, 'modelId')),
    'gen_ai.usage.input_tokens': inputTokens,
    'gen_ai.usage.output_tokens': outputTokens,
    'gen_ai.usage.cache_read.input_tokens': cachedInputTokens,
    'gen_ai.usage.cache_creation.input_tokens': cacheWriteTokens,
    'gen_ai.usage.reasoning.output_tokens': reasoningTokens > 0 ? reasoningTokens : undefined,
  };
}

const member = (value: Json | undefined, name: string): Json | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, Json>>)[name]
    : undefined;
const numberOf = (value: Json | undefined): number | undefined => (typeof value === 'number' ? value : undefined);
const textOf = (value: Json | undefined): string | undefined => (typeof value === 'string' ? value : undefined);

const withoutNothing = (attributes: Attributes): SpanAttributes =>
  Object.fromEntries(
    Object.entries(attributes).filter((entry): entry is [string, SpanAttributes[string]] => entry[1] !== undefined),
  );
