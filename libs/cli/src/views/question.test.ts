import type { TenantId, WorkflowId } from '@tidemark/core';
import { expect, it } from 'vitest';
import { budgetAnswers } from './question.ts';

const stream = { workflow: 'w1' as WorkflowId, tenant: 'acme' as TenantId };

it('names the command that gives more to whoever has too little', () => {
  const answers = (budget: string, unit: string): readonly string[] =>
    budgetAnswers(stream, { code: 'budget_exceeded' }, { budget, unit }, undefined).map(({ command }) => command);
  expect(answers('workflow w1', 'tokens')).toEqual(['tidemark budget raise w1 --tokens COUNT --by NAME --why TEXT']);
  expect(answers("user o'hara (day)", 'costMicros')).toEqual([
    "tidemark budget set --user 'o'\\''hara' --tenant acme --usd AMOUNT --period day",
  ]);
  expect(answers('tenant acme (month)', 'tokens')).toEqual([
    'tidemark budget set --tenant acme --tokens COUNT --period month',
  ]);
  expect(budgetAnswers(stream, { code: 'step-budget' }, { sequence: 3 }, undefined)).toEqual([]);
});
