/** What is counted of a model call: whose it was, how it ended, and tokens of each kind once. */

import { noTelemetry } from '@tidemark/ports';
import { beforeEach, expect, it } from 'vitest';
import type { Model } from '../definition/index.ts';
import { countAnswer, countFailedCall } from './model-metrics.ts';
import type { ModelDependencies } from './model-reservation.ts';

const model = { modelId: 'large' } as Model;
let counted: [name: string, value: number, labels: object][];
let observed: unknown[];
let given: ModelDependencies;

beforeEach(() => {
  counted = [];
  observed = [];
  const telemetry = {
    ...noTelemetry,
    count: (name: string, value: number, labels: object = {}) => counted.push([name, value, labels]),
    observe: (...all: unknown[]) => observed.push(all),
  };
  given = {
    ports: { telemetry, clock: { nowMs: () => 0 } },
    definition: { name: 'triage' },
    state: () => ({ tenant: 'acme' }),
    trace: () => 'the-trace',
  } as unknown as ModelDependencies;
});

it('an answer: tokens that are cached or of reasoning are counted as such alone, and its time leads to its trace', () => {
  const usage = { inputTokens: 100, cachedInputTokens: 30, outputTokens: 20, reasoningTokens: 5 };
  countAnswer(given, model, { usage, costMicros: 77, latencyMs: 1_500 });
  const of = { definition: 'triage', tenant: 'acme', model: 'large' };
  expect(counted).toEqual([
    ['model_calls_total', 1, { ...of, outcome: 'answered' }],
    ['model_tokens_total', 70, { ...of, kind: 'input' }],
    ['model_tokens_total', 30, { ...of, kind: 'cached_input' }],
    ['model_tokens_total', 15, { ...of, kind: 'output' }],
    ['model_tokens_total', 5, { ...of, kind: 'reasoning' }],
    ['model_cost_micros_total', 77, of],
  ]);
  expect(observed).toEqual([['model_call_seconds', 1.5, { model: 'large' }, 'the-trace']]);
});

it.each([
  [Object.assign(new Error('slow down'), { status: 429 }), 'limited'],
  [Object.assign(new Error('x'), { cause: { statusCode: 429 } }), 'limited'],
  [Object.assign(new Error('away'), { status: 503 }), 'failed'],
  ['nonsense', 'failed'],
])('a call that fails with %s is %s', (error, outcome) => {
  countFailedCall(given, model, error);
  expect(counted).toMatchObject([['model_calls_total', 1, { outcome, model: 'large' }]]);
});
