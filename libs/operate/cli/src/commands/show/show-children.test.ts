/** How `tidemark show` lists a workflow's kin: children, not all of thousands, and which run continues which. */

import type { WorkflowView } from '@tidemark/client';
import { expect, it } from 'vitest';
import type { Found } from './show-lines.ts';
import { showLines } from './show-lines.ts';

const style = { paint: (_: string, text: string) => text, width: 100 } as never;
const viewOf = (workflow: string, more: Partial<WorkflowView> = {}) => ({
  ...{ workflow, definition: 'audit', definition_version: 1, tenant: 'default', status: 'open', activity: 'ready' },
  ...{ opened_at: '2026-03-01T12:00:00.000Z', updated_at: '2026-03-01T12:00:00.000Z', reason: null },
  ...{ sequence_number: 0, tokens: 0, cost_micros: 0, pending_task_count: 0, frontier: [], last_checkpoint: null },
  ...{ question: null, undo: null, flow: null, forgotten: false },
  memory_scope_snapshot: {
    ...{ system_context: { keys: [] }, trace: { length: 0 } },
    working_memory: { phase: null, keys: [], tokens: 0, budget_tokens: null },
  },
  ...more,
});
const linesOf = (view: object, children: readonly object[] = []): readonly string[] => {
  const found = { view, waits: undefined, tasks: [], events: [], children };
  return showLines(found as unknown as Found, { workflows: [] }, style, 0);
};

it('children are told with what they are at', () => {
  const linesWith = (count: number) =>
    linesOf(
      viewOf('p'),
      Array.from({ length: count }, (_, at) => viewOf(`p~1.${at}`)),
    );
  expect(linesWith(0)).not.toContain('Children');
  expect(linesWith(1)).toContain('  p~1.0  audit  ready');
  expect(linesWith(200)).toContain('  … and more (tidemark children)');
});

it('tasks that the end left undone are told, with their steps', () => {
  const log = (count: number, ...tasks: string[]) => [
    { at: '', action: 'warning: pending tasks dropped', detail: { count, tasks } },
  ];
  const last = {
    checkpoint_id: 'c',
    sequence_number: 1,
    task: '0.0',
    at: '2026-03-01T12:00:00.000Z',
    input_state_hash: '',
  };
  const linesWith = (notes: object) =>
    linesOf(
      viewOf('w', { status: 'completed', last_action: 'end', last_checkpoint: { ...last, log: notes } as never }),
    );
  expect(linesWith(log(1, '0.1 (look)'))).toContain('1 pending task was dropped: 0.1 (look).');
  expect(linesWith(log(3, '0.1 (look)', '0.2 (wait)'))).toContain(
    '3 pending tasks were dropped: 0.1 (look), 0.2 (wait) and 1 more.',
  );
  expect(linesWith([]).join(' ')).not.toMatch(/dropped/);
});

it('a fresh history is told from both sides', () => {
  const ended = viewOf('w~2', { status: 'completed', reason: 'continued', continues: 'w', continued_as: 'w~3' });
  expect(linesOf(ended)).toContain('continues w, as a new run');
  expect(linesOf(ended).join(' ')).toMatch(/It continues as w~3; tidemark show 'w~3' shows how that is\./);
  expect(linesOf(viewOf('w')).join(' ')).not.toMatch(/continues/);
});
