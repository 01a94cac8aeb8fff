/** Owns the tests of session summaries by rule and by model, and of the texts made from them and from knowledge about a user. */

import { describe, expect, test } from 'vitest';
import { buildContinuationContext } from './continuation-context.ts';
import { parseSummary, summaryInstruction } from './model-summary.ts';
import { type SessionTrace, summariseTraceByRule } from './rule-summary.ts';
import { type SessionSummary, sessionSummarySchema, summaryWords } from './session-summary.ts';
import { buildUserContext } from './user-context.ts';

const session: SessionTrace = {
  sessionId: 's-1',
  goal: 'Move the invoices',
  trace: [
    { step: 'fetch', action: 'page 1', output: { rows: 3 } },
    { step: 'fetch', action: 'page 2', output: 'ok' },
    { step: 'fetch', action: 'page 2', output: 'ok' },
    { step: 'check', action: 'check' },
  ],
  fragments: [
    { type: 'constraint', text: 'never touch paid ones' },
    { type: 'checkpoint_note', text: '- keep the old column\n- swap on Sunday' },
    { type: 'agent_message', text: 'Which day?' },
    { type: 'user_message', text: 'Sunday.' },
    { type: 'agent_message', text: 'Fine. Who owns the exporter? I go on. May I drop the index?' },
  ],
  openTasks: ['swap columns', 'drop index'],
  createdAt: '2026-03-02T10:00:00.000Z',
};
const byRule = summariseTraceByRule(session);

describe('a summary by rule', () => {
  test('has the five parts, from goal, notes, trace, unanswered questions and open tasks', () => {
    expect(byRule).toEqual({
      session_id: 's-1',
      task_description: 'Move the invoices',
      decisions_made: ['Kept to: never touch paid ones', 'keep the old column', 'swap on Sunday'],
      work_completed: ['fetch: page 1 → {"rows":3}', 'fetch: page 2 → ok (2 times)', 'check'],
      open_questions: ['Who owns the exporter?', 'May I drop the index?'],
      next_recommended_steps: ['swap columns', 'drop index'],
      created_at: '2026-03-02T10:00:00.000Z',
    });
  });

  test('of an empty session is whole too, and long ones are cut', () => {
    const empty = summariseTraceByRule({ ...session, goal: ' ', trace: [], fragments: [], openTasks: [] });
    expect(sessionSummarySchema.parse(empty).task_description).toBe('Session s-1');
    const trace = Array.from({ length: 100 }, (_, n) => ({ step: `step ${n}`, action: 'x'.repeat(1_000) }));
    const long = summariseTraceByRule({ ...session, trace });
    expect(long.work_completed).toHaveLength(12);
    expect(long.work_completed[0]).toBe('(89 earlier ones)');
    expect(long.work_completed.at(-1)).toMatch(/^step 99: x+…$/);
    expect(long.work_completed.at(-1)).toHaveLength(300);
  });

  test('is found by its words, the task first', () => {
    expect(summaryWords(byRule).split('\n').slice(0, 2)).toEqual([
      'Move the invoices',
      'Kept to: never touch paid ones',
    ]);
  });
});

describe("a model's summary", () => {
  const good = {
    task_description: 'Invoices moved',
    decisions_made: ['a'],
    work_completed: ['b'],
    open_questions: [],
    next_recommended_steps: ['c'],
  };
  const expected: SessionSummary = { ...good, session_id: 's-1', created_at: byRule.created_at };

  test.each([
    ['bare JSON', JSON.stringify(good)],
    ['JSON in a fence with words around', `Here {it} is:\n\`\`\`json\n${JSON.stringify(good, null, 2)}\n\`\`\`\nDone.`],
    ['trailing commas', JSON.stringify(good).replaceAll('"]', '",]')],
    [
      'camel case and texts for lists',
      '{"taskDescription":"Invoices moved","decisionsMade":"- a","workCompleted":"1. b","openQuestions":"None","nextRecommendedSteps":"c"}',
    ],
    [
      'headings with bullets',
      '**Task description:** Invoices moved\n\n## Decisions made\n- a\n\n## Work completed\n* b\n\n### Open questions:\nNone.\n\n4. Next recommended steps:\n- c',
    ],
    ['ids and times of its own', JSON.stringify({ ...good, session_id: 'forged', created_at: 'yesterday' })],
  ])('is read from %s', (_, text) => {
    expect(parseSummary(text, byRule)).toEqual({ summary: expected, by: 'model' });
  });

  test.each([
    ['nothing', ''],
    ['a refusal', "I'm sorry, I can't summarise that."],
    ['half an object', JSON.stringify(good).slice(0, -20)],
    ['another object', '{"answer": 42}'],
    ['empty lists', '{"decisions_made":[],"work_completed":[],"open_questions":[],"next_recommended_steps":[]}'],
  ])('that is %s leaves the one by rule, and says why', (_, text) => {
    expect(parseSummary(text, byRule)).toMatchObject({ summary: byRule, by: 'rule', problem: expect.any(String) });
  });

  test('is asked for with the names that are read', () => {
    const instruction = summaryInstruction('Move the invoices');
    expect(instruction).toContain('Move the invoices');
    for (const part of Object.keys(good)) expect(instruction).toContain(`"${part}"`);
  });
});

describe('the continuation context', () => {
  const other: SessionSummary = { ...byRule, session_id: 's-2', task_description: 'Pay the suppliers' };

  test('tells each session with its date and parts', () => {
    expect(buildContinuationContext([byRule])).toBe(`# Earlier sessions

## 2026-03-02: Move the invoices (session s-1)
Decided:
- Kept to: never touch paid ones
- keep the old column
- swap on Sunday
Done:
- fetch: page 1 → {"rows":3}
- fetch: page 2 → ok (2 times)
- check
Open questions:
- Who owns the exporter?
- May I drop the index?
Next steps:
- swap columns
- drop index`);
    expect(buildContinuationContext([])).toBe('');
  });

  test.each([10, 100, 250, 400, 600, 900])(
    'keeps within %i characters: work goes first, tasks and next steps last',
    (maxChars) => {
      const text = buildContinuationContext([byRule, other], { maxChars });
      expect(text.length).toBeLessThanOrEqual(maxChars);
      if (text.includes('Done')) expect(text).toContain('Decided');
      if (text.includes('Decided')) expect(text).toContain('Open questions');
      if (text.includes('Open questions')) expect(text).toContain('Next steps');
      if (maxChars >= 250) expect(text).toContain('Pay the suppliers');
    },
  );
});

describe("the user's context", () => {
  const state = [
    { key: 'tone', value: 'short', source: 'user', atMs: 1 },
    { key: 'hours', value: { from: 9 }, source: 'user', atMs: 1 },
  ];
  const facts = [
    { subject: 'user:ana', text: 'Moved to\nBerlin', source: '', atMs: Date.UTC(2026, 2, 4) },
    { subject: 'domain:pets', text: 'Dogs need walks', source: 'mail', atMs: Date.UTC(2026, 0, 2) },
  ];

  test('has preferences by key, then each fact with domain, source and date, in the order given', () => {
    expect(buildUserContext({ state, facts })).toEqual([
      '# Preferences of the user\n- hours: {"from":9}\n- tone: short',
      '# Known\n- Moved to Berlin (2026-03-04)',
      '- Dogs need walks (pets, mail, 2026-01-02)',
    ]);
    expect(buildUserContext({ state: [], facts: [] })).toEqual([]);
  });

  test('keeps within its limit: what does not fit is left out, preferences are counted', () => {
    const within = (maxChars: number) => buildUserContext({ state, facts }, { maxChars });
    expect(within(100).join('\n').length).toBeLessThanOrEqual(100);
    expect(within(100)).toEqual([expect.any(String), '# Known\n- Moved to Berlin (2026-03-04)']);
    expect(within(58)).toEqual(['# Preferences of the user\n- hours: {"from":9}\n(1 more)']);
  });
});
