/** A budget counts what other calls have reserved: two at once never spend it twice. */

import type { EffectKey, StreamState, TaskId } from '@tidemark/core';
import { expect, test } from 'vitest';
import { checkOwnBudgets } from './model-budgets.ts';

const TASK = '0.0' as TaskId;
const task = {
  id: TASK,
  effects: [{ key: 'other', status: 'intended', spend: { tokens: 60, costMicros: 0 } }],
};
const state = {
  workflow: 'w',
  tokens: 0,
  costMicros: 0,
  frontier: { tasks: Object.assign([task], { get: () => task }) },
} as unknown as StreamState;
const context = (of: 'step' | 'workflow') => {
  const none = { tokens: undefined, costMicros: undefined };
  return { budgets: { call: none, step: none, workflow: none, [of]: { ...none, tokens: 100 } } } as never;
};
const call = (tokens: number) => ({
  key: 'mine' as EffectKey,
  task: TASK,
  reserved: { tokens, costMicros: 0 },
  isUnpriced: false,
});

test.each(['step', 'workflow'] as const)('of a %s: what does not fit beside it waits', (of) => {
  expect(checkOwnBudgets(state, context(of), call(40))).toBeUndefined();
  const contended = expect.objectContaining({ name: 'ContendedError' });
  expect(() => checkOwnBudgets(state, context(of), call(41))).toThrow(contended);
  // Alone it would not fit either: no wait helps.
  const parked = expect.objectContaining({ code: 'budget_exceeded' });
  expect(() => checkOwnBudgets(state, context(of), call(101))).toThrow(parked);
});
