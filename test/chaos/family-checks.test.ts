/** The family's checks on histories that break its promise, and on a sound one. */

import { encodePayload } from '@tidemark/codec';
import type { Position } from '@tidemark/core';
import { entryOf, type Fields, holderEvent, inboxEvent } from '@tidemark/testkit/naive/events';
import { expect, test } from 'vitest';
import { brokenFamily, childrenOf, type FamilyStart, isOfFamily } from './family-checks.ts';
import type { Judged } from './history.ts';
import { Ledger, type LedgerEntry, receiptOf } from './ledger.ts';

const start: FamilyStart = { parent: 'p', amounts: [3, 4], schedule: 's', periodMs: 2_000, slotsMin: 2 };
const children = childrenOf(start);
const runs = [0, 2_000, 4_000].map((atMs) => `s@${new Date(1_790_000_000_000 + atMs).toISOString()}`);

const judged = (entry: Judged['entry'], partition = 0): Judged => ({
  ...{ partition, offset: 0, entry },
  verdict: { kind: 'accepted', position: 1 as Position },
});
const of = (workflow: string): Fields => ({ workflow });
const holder = { epoch: 1, holder: 'h1', ordinal: 1 };
const claimed = (workflow: string, partition = 0) =>
  judged(entryOf(holderEvent('LeaseClaimed', holder, {}, of(workflow))), partition);
const completed = (workflow: string, output: object) =>
  judged({
    kind: 'event',
    envelope: holderEvent('WorkflowCompleted', holder, {}, of(workflow)),
    payload: encodePayload('WorkflowCompleted', { output } as never),
  });
const childClosed = (child: string) =>
  judged(entryOf(inboxEvent('ChildClosed', { task: '1.0', child, outcome: 'completed' } as never, of('p'))));
const approved = (child: string, by: string) =>
  judged(entryOf(inboxEvent('ApprovalGiven', { task: '1.0', name: 'act', approved: true, by } as never, of(child))));

const total = children
  .flatMap((id, n) => ['before', 'after'].map((what) => receiptOf(`${id}/${what}`, start.amounts[n]!)))
  .reduce((sum, receipt) => sum + receipt, 0);
const ofChild = (child: string) => [
  claimed(child),
  approved(child, 'ana'),
  completed(child, { by: 'ana' }),
  childClosed(child),
];
const sound = [
  ...[claimed('p'), completed('p', { total, reportedCount: 2 })],
  ...children.flatMap(ofChild),
  ...runs.flatMap((run) => [claimed(run), completed(run, {})]),
];
const ledgerOf = (actions: readonly string[]): readonly LedgerEntry[] => {
  const ledger = new Ledger();
  for (const [n, action] of actions.entries())
    ledger.apply({ receiver: 'probed', key: `k${n}`, action, amount: 1 }, 1, 0);
  return ledger.entries;
};
const actions = [...children.flatMap((id) => [`${id}/before`, `${id}/after`]), ...runs.map((id) => `${id}/tick`)];

const findings = (events: readonly Judged[] = sound, applied = actions) =>
  brokenFamily(start, [events], ledgerOf(applied)).map(({ workflow, what }) => `${workflow}: ${what}`);
const nameOf = ({ entry }: Judged): string => {
  if (entry.kind !== 'event') return '';
  const { type, workflow, control } = entry.envelope;
  return `${type} ${workflow} ${(control as { readonly child?: string }).child ?? ''}`;
};
const without = (one: Judged) => sound.filter((event) => nameOf(event) !== nameOf(one));

test('a sound history has nothing against it', () => {
  expect(findings()).toEqual([]);
  expect([...actions, 'p', 's', 'x/pay-0', 'p2/pay-0'].filter((name) => !isOfFamily(start, name))).toHaveLength(2);
});

test('a workflow that was begun in two places, or ended twice or never, is found', () => {
  const [first] = children;
  expect(findings([...sound, claimed(first!, 1)])).toEqual([expect.stringMatching(/^p~1\.0: it was begun .* 2 times/)]);
  expect(findings([...sound, completed(first!, { by: 'ana' })])).toEqual([expect.stringMatching(/completed 2 times/)]);
  expect(findings(without(completed(runs[0]!, {})))).toEqual([expect.stringMatching(/^s@.*completed 0 times/)]);
});

test('an end that was reported twice or never, and a parent that counted wrongly, are found', () => {
  expect(findings([...sound, childClosed(children[1]!)])).toEqual([
    expect.stringMatching(/^p~1\.1: its end was reported 2 times/),
  ]);
  expect(findings(without(childClosed(children[1]!)))).toEqual([expect.stringMatching(/reported 0 times/)]);
  const wrong = without(completed('p', { total, reportedCount: 2 }));
  expect(findings([...wrong, completed('p', { total, reportedCount: 1 })])).toEqual([
    expect.stringMatching(/^p: it ended with/),
  ]);
});

test('an approval that counted twice, or went on by another than gave it, is found', () => {
  const [first] = children;
  expect(findings([...sound, approved(first!, 'bob')])).toEqual([expect.stringMatching(/approved 2 times/)]);
  const wrong = without(completed(first!, { by: 'ana' }));
  expect(findings([...wrong, completed(first!, { by: 'bob' })])).toEqual([expect.stringMatching(/by bob, and ana/)]);
});

test('an effect that was applied twice or never, and a slot that was left out, are found', () => {
  expect(findings(sound, [...actions, `${children[0]}/before`])).toEqual([
    expect.stringMatching(/first effect .* 2 times/),
  ]);
  expect(findings(sound, actions.slice(1))).toEqual([expect.stringMatching(/first effect .* 0 times/)]);
  const left = sound.filter(({ entry }) => entry.kind === 'event' && entry.envelope.workflow !== runs[1]);
  expect(findings(left, actions)).toEqual([expect.stringMatching(/^s: nothing began between/)]);
  const one = left.filter(({ entry }) => entry.kind === 'event' && entry.envelope.workflow !== runs[2]);
  expect(findings(one, actions)).toEqual(['s: only 1 runs began']);
});
