import { expect, it } from 'vitest';
import { checkedWorkflowId } from './workflow-name.ts';

it.each(['.', '..'])("refuses '%s', which no address can hold", (id) => {
  expect(() => checkedWorkflowId(id)).toThrow(expect.objectContaining({ code: 'workflow-id-invalid' }));
});

it.each(['...', '.a', 'a.', 'a/../b'])("takes '%s'", (id) => {
  expect(checkedWorkflowId(id)).toBe(id);
});
