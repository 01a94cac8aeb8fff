import { expect, it } from 'vitest';
import { checkedWorkflowId } from './workflow-name.ts';

it.each(['.', '..'])("refuses '%s', which no address can hold", (id) => {
  expect(() => checkedWorkflowId(id)).toThrow(expect.objectContaining({ code: 'workflow-id-invalid' }));
});

it.each(['', ' ', '\u200b', 'a\n', 'x'.repeat(201)])('refuses %j, which nobody could see or name', (id) => {
  expect(() => checkedWorkflowId(id)).toThrow(expect.objectContaining({ code: 'workflow-id-invalid' }));
});

it('keeps ids of jobs for jobs', () => {
  expect(() => checkedWorkflowId('job:x')).toThrow(expect.objectContaining({ code: 'workflow-id-reserved' }));
  expect(() => checkedWorkflowId('job:x', 'order')).toThrow(expect.objectContaining({ code: 'workflow-id-reserved' }));
  expect(checkedWorkflowId('job:x', 'tidemark.bulk')).toBe('job:x');
  expect(checkedWorkflowId('jobs:x')).toBe('jobs:x');
});

it.each(['...', '.a', 'a.', 'a/../b'])("takes '%s'", (id) => {
  expect(checkedWorkflowId(id)).toBe(id);
});
