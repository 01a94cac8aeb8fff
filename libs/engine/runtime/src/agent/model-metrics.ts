/** Owns what is counted of model calls: how they end, tokens, price and latency, by definition, tenant and model. */

import type { Attributes, MetricName } from '@tidemark/ports';
import { faultOf, type Model, type ModelAnswer } from '../definition/index.ts';
import type { ModelDependencies } from './model-reservation.ts';

export function countAnswer(
  given: ModelDependencies,
  model: Model,
  { usage, costMicros, latencyMs }: Pick<ModelAnswer, 'usage' | 'costMicros' | 'latencyMs'>,
): void {
  const { inputTokens, cachedInputTokens, outputTokens, reasoningTokens } = usage;
  count(given, model, 'model_calls_total', 1, { outcome: 'answered' });
  const kinds = {
    input: inputTokens - cachedInputTokens,
    cached_input: cachedInputTokens,
    output: outputTokens - reasoningTokens,
    reasoning: reasoningTokens,
  };
  for (const [kind, tokens] of Object.entries(kinds)) {
    count(given, model, 'model_tokens_total', Math.max(0, tokens), { kind });
  }
  count(given, model, 'model_cost_micros_total', costMicros ?? 0);
  const { ports, trace } = given;
  ports.telemetry.observe('model_call_seconds', latencyMs / 1_000, { model: model.modelId }, trace?.());
}

export function countFailedCall(given: ModelDependencies, model: Model, error: unknown): void {
  const { isLimited } = faultOf(error, { nonRetryable: [] }, given.ports.clock.nowMs());
  count(given, model, 'model_calls_total', 1, { outcome: isLimited ? 'limited' : 'failed' });
}

function count(given: ModelDependencies, model: Model, name: MetricName, value: number, more: Attributes = {}): void {
  const { ports, definition, state, trace } = given;
  const of = { definition: definition.name, tenant: state().tenant, model: model.modelId };
  ports.telemetry.count(name, value, { ...of, ...more }, trace?.());
}
