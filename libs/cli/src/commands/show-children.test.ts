/** How `tidemark show` tells of a workflow's kin: children, not all of thousands, and who goes on for whom. */

import type { WorkflowListing } from '@tidemark/ports';
import { streamRow } from '@tidemark/testkit/contracts/projection-store-rows';
import { expect, it } from 'vitest';
import type { Found } from './show.ts';
import { showLines } from './show-lines.ts';

const look = { paint: (_: string, text: string) => text, width: 100 } as never;
const row = (workflow: string) => streamRow(workflow, 0) as unknown as WorkflowListing;
const linesWith = (count: number): readonly string[] => {
  const children = Array.from({ length: count }, (_, at) => row(`p~1.${at}`));
  const found = { row: row('p'), idle: false, input: null, belief: null, tasks: [], effects: [], events: [], children };
  return showLines({ ...found } as unknown as Found, {}, look, 0);
};

it('children are told with what they are at', () => {
  expect(linesWith(0)).not.toContain('Children');
  expect(linesWith(1)).toContain('  p~1.0  audit  ready');
  expect(linesWith(2_000)).toContain('  … and 1,988 more');
});

it('a fresh history is told from both sides', () => {
  const rest = { idle: false, input: null, belief: null, tasks: [], effects: [], events: [], children: [] };
  const of = (one: object): readonly string[] => showLines({ ...rest, row: one } as unknown as Found, {}, look, 0);
  const ended = { ...row('w~2'), status: 'completed', reason: 'continued', result: '{"output":null}' };
  expect(of(ended)).toContain('goes on for w, with a fresh history');
  expect(of(ended).join(' ')).toMatch(/It goes on as w~3; tidemark show 'w~3' tells how that stands\./);
  expect(of(row('w')).join(' ')).not.toMatch(/goes on/);
});
