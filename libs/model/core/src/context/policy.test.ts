/** Owns the tests of bundle policies: what is refused, and that the error names field and remedy. */

import { expect, test } from 'vitest';
import { InvalidError } from '../errors.ts';
import { checkPolicy, definePolicy, LANES, type PolicyOptions } from './policy.ts';

const right: PolicyOptions = { type: 'reply', budgetTokens: 8_000 };

test('the defaults are a policy, and survive JSON', () => {
  const policy = definePolicy(right);
  expect(policy).toMatchObject({ traceEntries: 10, summary: null, session: true });
  expect(checkPolicy(JSON.parse(JSON.stringify(policy)))).toEqual(policy);
});

test('shares in decimals add up though binary fractions do not; lanes left out have none', () => {
  const lanes = { messages: 0.1, tool_results: 0.2, trace: 0.7 };
  expect(definePolicy({ ...right, lanes }).lanes).toEqual({
    ...lanes,
    working_memory: 0,
    continuation: 0,
    user_context: 0,
  });
});

const order = [...LANES];
test.each<[string, Partial<Record<keyof PolicyOptions, unknown>>, RegExp]>([
  [
    'an unknown lane',
    { lanes: { messages: 0.5, mesages: 0.5 } },
    /lanes\.mesages is 0\.5: there is no such lane: use messages/,
  ],
  [
    'shares below 1',
    { lanes: { messages: 0.5, trace: 0.4 } },
    /lanes is 0\.9: the shares add up to 0\.9: make them add up to 1/,
  ],
  ['shares above 1', { lanes: { messages: 0.9, trace: 0.4 } }, /add up to 1\.3/],
  ['a negative share', { lanes: { messages: 1.5, trace: -0.5 } }, /lanes\.messages is 1\.5: give a share from 0 to 1/],
  ['a share that is NaN', { lanes: { messages: Number.NaN } }, /lanes\.messages is NaN/],
  ['a trim order that misses a lane', { trimOrder: order.slice(1) }, /it misses messages: name each lane once/],
  ['a trim order that repeats one', { trimOrder: [...order, 'trace'] }, /trimOrder is "trace": it is named twice/],
  ['a trim order with another', { trimOrder: ['goal', ...order] }, /trimOrder is "goal": there is no such lane/],
  ['no budget', { budgetTokens: 0 }, /budgetTokens is 0: give a whole number of tokens above 0/],
  ['a negative budget', { budgetTokens: -1 }, /budgetTokens is -1/],
  ['a budget that is NaN', { budgetTokens: Number.NaN }, /budgetTokens is NaN/],
  ['a budget in parts', { budgetTokens: 1.5 }, /budgetTokens is 1\.5/],
  ['no type', { type: '' }, /type is ""/],
  ['a trace of -1', { traceEntries: -1 }, /traceEntries is -1/],
  [
    'a summary that keeps all',
    { summary: { thresholdTokens: 10, keepTokens: 10, by: 'rule' } },
    /summary\.keepTokens is 10: give a whole number below the threshold of 10/,
  ],
  ['a summary that is none', { summary: true }, /summary is true: give its thresholds, or null for none/],
  ['a summary by nobody', { summary: { thresholdTokens: 10, keepTokens: 1, by: 'hand' } }, /summary\.by is "hand"/],
])('%s', (_, wrong, message) => {
  const define = () => definePolicy({ ...right, ...wrong } as PolicyOptions);
  expect(define).toThrow(InvalidError);
  expect(define).toThrow(message);
});
