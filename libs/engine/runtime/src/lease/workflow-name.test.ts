import type { WorkflowId } from '@tidemark/core';
import { expect, it } from 'vitest';
import { checkedDerivedId, checkedWorkflowId } from './workflow-name.ts';

it.each(['.', '..'])("refuses '%s', which no address can hold", (id) => {
  expect(() => checkedWorkflowId(id)).toThrow(expect.objectContaining({ code: 'workflow-id-invalid' }));
});

it.each(['', ' ', '\u200b', 'a\n', 'x'.repeat(201)])('refuses %j, which nobody could see or name', (id) => {
  expect(() => checkedWorkflowId(id)).toThrow(expect.objectContaining({ code: 'workflow-id-invalid' }));
});

/** Which ids are derived is core's (derived-ids.test.ts); each has its remedy here. */
it.each([
  'job:x',
  'resumed:0',
  '~memory:0',
  'w~undo',
  'w~1.0',
  'w~2',
  'nightly@2026-11-27T19:09:00.000Z',
  'w~fork-0',
  '~',
])('keeps %s for the system, which alone may start it', (id) => {
  expect(() => checkedWorkflowId(id)).toThrow(/^id: '.+' has the reserved form of .+\. Choose an id without '~' that/);
  expect(() => checkedWorkflowId(id)).toThrow(expect.objectContaining({ code: 'workflow-id-reserved' }));
  expect(checkedDerivedId(id as WorkflowId)).toBe(id);
});

it('has no other door for ids that a caller may choose', () => {
  expect(() => checkedDerivedId('order-7' as WorkflowId)).toThrow(
    expect.objectContaining({ code: 'invariant-broken' }),
  );
});

it.each(['...', '.a', 'a.', 'a/../b'])("takes '%s'", (id) => {
  expect(checkedWorkflowId(id)).toBe(id);
});
