/** D1 and D2: whatever the system derives, no caller may choose, and no two causes have one id. */

import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  auditId,
  childId,
  continuationId,
  derivedFormOf,
  forkId,
  jobId,
  memoryId,
  nthId,
  resumedId,
  rolloutId,
  slotId,
  undoId,
} from './derived-ids.ts';
import { taskId, type WorkflowId, workflowId } from './ids.ts';

const text = fc.string({ unit: 'grapheme', minLength: 1 });
const time = fc.date({ noInvalidDate: true }).map((date) => date.toISOString());

/** Each way to derive an id from a workflow. */
const derivations: fc.Arbitrary<(of: WorkflowId) => WorkflowId>[] = [
  fc.constant(undoId),
  fc.tuple(fc.nat(), fc.nat()).map(
    ([sequence, index]) =>
      (of: WorkflowId) =>
        childId(of, taskId(sequence, index)),
  ),
  fc.constant(continuationId),
  time.map((slot) => (of: WorkflowId) => slotId(of, slot)),
  fc.stringMatching(/^[0-9a-f]{10}$/).map((digits) => (of: WorkflowId) => forkId(of, digits)),
];

it.each([
  ['undo', undoId(workflowId('w'))],
  ['undo', undoId(undoId(workflowId('w')))],
  ['child', childId(workflowId('w'), taskId(12, 3))],
  ['continuation', continuationId(workflowId('w'))],
  ['slot', slotId(workflowId('nightly'), '2026-11-27T19:09:00.000Z')],
  ['slot', slotId(workflowId('nightly'), '+010000-01-01T00:00:00.000Z')],
  ['fork', forkId('w', '0123456789')],
  ['session', resumedId('0123')],
  ['job', jobId('0123', 'mine')],
  ['memory', memoryId('0123')],
  ['other', rolloutId('report')],
  ['other', auditId('0123', 'x')],
  ['other', '~'],
  ['other', 'a~b'],
])('a caller may choose no id of the form of %s: %s', (form, id) => {
  expect(derivedFormOf(id)).toBe(form);
});

it.each([
  'w',
  'order-7',
  'Gezeiten ☂ 😀',
  'a:b c',
  'jobs:x',
  'me@example.org',
  'report@2026-11-27',
  '2026-11-27T19:09:00.000Z',
])('a caller may choose %s', (id) => {
  expect(derivedFormOf(id)).toBeUndefined();
});

it('whatever is derived of whatever workflow is reserved, and derived once', () => {
  const own = text.filter((id) => derivedFormOf(id) === undefined).map(workflowId);
  const chain = fc.array(fc.oneof(...derivations), { minLength: 1, maxLength: 4 });
  const derived = fc.tuple(own, chain).map(([of, steps]) => [of, steps.reduce((id, step) => step(id), of)] as const);
  fc.assert(
    fc.property(derived, derived, ([a, fromA], [b, fromB]) => {
      expect(derivedFormOf(fromA)).toBeDefined();
      if (a !== b) expect(fromA).not.toBe(fromB);
    }),
  );
});

it('the first run of a workflow has its own id', () => {
  expect(nthId({ first: workflowId('w'), n: 1 })).toBe('w');
});
