import { expect, it } from 'vitest';
import { answersOf } from './answers.ts';

const asked = (code: string, evidence: Readonly<Record<string, string | number>>) => ({
  ...{ code, idempotency_key: null, resolutions: ['retry'], evidence },
});

it('names the command that gives more to whoever has too little', () => {
  const answers = (budget: string, unit: string): readonly string[] =>
    answersOf('w1', 'acme', asked('budget_exceeded', { budget, unit }), {})
      .filter(({ resolution }) => resolution === null)
      .map(({ command }) => command);
  expect(answers('workflow w1', 'tokens')).toEqual(['tidemark budget raise w1 --tokens COUNT --why TEXT']);
  expect(answers("user o'hara (day)", 'costMicros')).toEqual([
    "tidemark budget set --user 'o'\\''hara' --tenant acme --usd AMOUNT --period day",
  ]);
  expect(answers('tenant acme (month)', 'tokens')).toEqual([
    'tidemark budget set --tenant acme --tokens COUNT --period month',
  ]);
  expect(answersOf('w1', 'acme', asked('step-budget', { sequence: 3 }), {})).toMatchObject([
    { resolution: 'retry', command: 'tidemark approve w1 --as retry --why TEXT' },
  ]);
});

it('names what judges a record that can’t be read; an opening is not skipped', () => {
  const verbs = (type: string) => {
    const question = { ...asked('sealed-wrong', { offset: 7, type }), resolutions: [] };
    return answersOf('w1', 'acme', question, { state: 'here' }).map(({ command }) => command.split(' ').slice(1, 5));
  };
  expect(verbs('SignalReceived')).toEqual([
    ['skip', 'w1', '--state', 'here'],
    ['take', 'w1', '--state', 'here'],
  ]);
  expect(verbs('WorkflowOpened')).toEqual([['take', 'w1', '--state', 'here']]);
});
