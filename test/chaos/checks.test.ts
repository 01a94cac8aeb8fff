/** Each check of a run on a history that breaks its promise, and all of them on a sound one. */

import { encodePayload } from '@tidemark/codec';
import type { Envelope, LogEntry, Verdict } from '@tidemark/core';
import { entryOf, type Fields, holderEvent, inboxEvent } from '@tidemark/testkit/naive/events';
import { expect, test } from 'vitest';
import {
  brokenInvariants,
  duplicateEffects,
  type Expectations,
  type Finding,
  falseCommits,
  handedToPerson,
  lostCheckpoints,
  unfinished,
  wrongOutputs,
} from './checks.ts';
import { expectationsOf, expectedOf, type Start } from './expected.ts';
import { acceptedOf, accountOf, type History, judge } from './history.ts';
import { Ledger, type LedgerEntry } from './ledger.ts';

const W = 'transfer-1';
const ACTION = `${W}/pay-0`;
const KEY = `${W}:0.0:chaos.wire:0`;
const start: Start = {
  definition: 'chaos-transfer',
  input: { payments: [{ by: 'wire', amount: 7 }], flakyAt: 9, pauseMs: 1 },
};
const starts: Expectations = new Map([[W, expectedOf(W, start)]]);
const expected = expectedOf(W, start);

const fields: Fields = { workflow: W };
const at = (ordinal: number) => ({ epoch: 1, holder: 'h1', ordinal });
const opened = entryOf(inboxEvent('WorkflowOpened', { tasks: [{ step: 'pay', after: [], when: [] }] }, fields));
const claimed = entryOf(holderEvent('LeaseClaimed', at(1), {}, fields));
const effectControl = { task: '0.0', key: KEY, operation: 'chaos.wire', kind: 'irreversible' } as const;
const intended = entryOf(holderEvent('EffectIntended', at(2), effectControl, fields));
const resolved = entryOf(holderEvent('EffectResolved', at(3), effectControl, fields));
const committed = entryOf(holderEvent('CheckpointCommitted', at(4), { task: '0.0', checkpoint: 'c1' }, fields));
const completed = (output: unknown, ordinal = 5): LogEntry => ({
  kind: 'event',
  envelope: holderEvent('WorkflowCompleted', at(ordinal), {}, fields),
  payload: encodePayload('WorkflowCompleted', { output } as never),
});
const sound = [opened, claimed, intended, resolved, committed, completed(expected.output)];

const ledgerOf = (...keys: string[]): readonly LedgerEntry[] => {
  const ledger = new Ledger();
  for (const key of keys) ledger.apply({ receiver: 'probed', key, action: ACTION, amount: 7 }, 1, 0);
  return ledger.entries;
};
const seen = (sequence: number, checkpoint: string) => new Map([[W, new Map([[sequence, checkpoint]])]]);
const ended = new Map([[W, 'completed']]);

interface Case {
  readonly entries?: readonly LogEntry[];
  readonly ledger?: readonly LedgerEntry[];
  readonly heads?: ReadonlyMap<string, ReadonlyMap<number, string>>;
  readonly ends?: ReadonlyMap<string, string>;
}

function allChecks({ entries = sound, ledger = ledgerOf(KEY), heads = seen(1, 'c1'), ends = ended }: Case) {
  const history = judge([entries]);
  const streams = acceptedOf(history);
  return {
    lost: lostCheckpoints(heads, ends, streams),
    duplicates: duplicateEffects(ledger),
    wrong: wrongOutputs(starts, streams, ledger),
    false: falseCommits(starts, streams, ledger),
    unfinished: unfinished(starts, streams),
    invariants: brokenInvariants(history),
  };
}

test('finds nothing in a sound run', () => {
  expect(
    judge([sound])
      .flat()
      .map(({ verdict }) => verdict.kind),
  ).toEqual(sound.map(() => 'accepted'));
  for (const findings of Object.values(allChecks({}))) expect(findings).toEqual([]);
});

test.each<[string, keyof ReturnType<typeof allChecks>, Case, string]>([
  [
    'a checkpoint that was seen and is gone',
    'lost',
    { heads: seen(2, 'c2') },
    'checkpoint 2 was seen as c2 and is gone',
  ],
  [
    'a checkpoint that was seen and is another',
    'lost',
    { heads: seen(1, 'c9') },
    'checkpoint 1 was seen as c9 and is c1',
  ],
  [
    'an end that was seen and is none',
    'lost',
    { entries: sound.slice(0, -1) },
    'its end was seen as completed and is open',
  ],
  ['an effect that was applied twice', 'duplicates', { ledger: ledgerOf(KEY, KEY) }, 'was applied 2 times'],
  ['an effect under two keys', 'duplicates', { ledger: ledgerOf(KEY, 'other') }, 'was applied 2 times'],
  ['another output', 'wrong', { entries: [...sound.slice(0, -1), completed({ total: 1 })] }, 'ended with {"total":1}'],
  [
    'a failed workflow',
    'wrong',
    { entries: [opened, claimed, entryOf(holderEvent('WorkflowFailed', at(2), { code: 'boom' }, fields))] },
    'failed with boom instead of completed',
  ],
  [
    'an action that nobody asked for',
    'wrong',
    { ledger: [...ledgerOf(KEY), { ...ledgerOf(KEY)[0]!, action: `${W}/pay-7` }] },
    'which nobody asked for',
  ],
  [
    'a committed effect that never happened',
    'false',
    { ledger: [] },
    `checkpoint 1 holds ${KEY}, which never happened`,
  ],
  [
    'an end without its effect',
    'false',
    { entries: [opened, claimed, completed(expected.output, 2)], ledger: [] },
    `completed without ${ACTION}`,
  ],
  ['a workflow that did not finish', 'unfinished', { entries: sound.slice(0, -1) }, 'did not finish: open'],
  ['a workflow that the log does not know', 'unfinished', { entries: [] }, 'did not finish: unknown'],
])('sees %s', (_, name, given, what) => {
  const findings: readonly Finding[] = allChecks(given)[name];
  expect(findings.map((finding) => finding.what).join('\n')).toContain(what);
  expect(findings[0]!.workflow).toBe(W);
});

const TRIP = 'trip-1';
const trip = expectationsOf(new Map([[TRIP, { definition: 'chaos-trip', input: { amounts: [1, 2], pauseMs: 1 } }]]));
const tripFields: Fields = { workflow: TRIP };
const undoing = entryOf(holderEvent('CompensationStarted', at(2), { undo: `${TRIP}~undo` }, tripFields));
const undone = entryOf(
  inboxEvent('CompensationFinished', { undo: `${TRIP}~undo`, outcome: 'compensated' }, tripFields),
);
const tripStreams = acceptedOf(
  judge([
    [
      entryOf(inboxEvent('WorkflowOpened', {}, tripFields)),
      entryOf(holderEvent('LeaseClaimed', at(1), {}, tripFields)),
      undoing,
      undone,
    ],
  ]),
);
/** Booked in order; undone in the order of the numbers. */
function tripLedger(...undoneOrder: number[]): readonly LedgerEntry[] {
  const ledger = new Ledger();
  const apply = (receiver: 'probed' | 'dedupe', action: string) =>
    ledger.apply({ receiver, key: action, action, amount: 0 }, 1, 0);
  for (const n of [0, 1]) apply('probed', `${TRIP}/book-${n}`);
  for (const n of undoneOrder) apply('dedupe', `${TRIP}/book-${n}~undone`);
  return ledger.entries;
}

test('a workflow that is compensated must be compensated wholly, and in reverse order', () => {
  expect(wrongOutputs(trip, tripStreams, tripLedger(1, 0))).toEqual([]);
  expect(falseCommits(trip, tripStreams, tripLedger(1, 0))).toEqual([]);
  expect(unfinished(trip, tripStreams)).toEqual([]);
  expect(wrongOutputs(trip, tripStreams, tripLedger(0, 1))[0]!.what).toContain('in another order');
  expect(falseCommits(trip, tripStreams, tripLedger(1))).toEqual([
    { workflow: TRIP, what: `compensated without ${TRIP}/book-0~undone` },
  ]);
});

test('sees a broken invariant, had the fold let it pass', () => {
  const events = [opened, committed];
  const history: History = [
    events.map((entry, offset) => ({
      partition: 0,
      offset,
      entry,
      verdict: { kind: 'accepted', position: offset + 1 } as Verdict,
    })),
  ];
  expect(brokenInvariants(history)).toMatchObject([{ workflow: W }]);
});

test('a workflow that was handed to a person is told of; undecided it is unfinished', () => {
  const parked = entryOf(holderEvent('WorkflowParked', at(3), { code: 'effect-unknown', key: KEY }, fields));
  const { id } = (parked as { envelope: Envelope }).envelope;
  const control = { question: id, resolution: 'retry', by: 'p', responseDigest: null } as const;
  const decided = entryOf(inboxEvent('ApprovalDecided', control, fields));
  const undecided = acceptedOf(judge([[opened, claimed, intended, parked]]));
  expect(unfinished(starts, undecided)).toEqual([{ workflow: W, what: 'did not finish: parked' }]);
  expect(handedToPerson(undecided)).toEqual([{ workflow: W, what: `effect-unknown (${KEY})` }]);
  expect(unfinished(starts, acceptedOf(judge([[opened, claimed, intended, parked, decided]])))).toEqual([
    { workflow: W, what: 'did not finish: open' },
  ]);
});

test('an account holds the whole history, rejected events with their reason', () => {
  const late = entryOf({ ...(committed as { envelope: Envelope }).envelope, id: 'late' } as Envelope);
  const account = accountOf(W, judge([[...sound, late]]));
  expect(account.split('\n')).toHaveLength(1 + sound.length + 1);
  expect(account).toMatch(/CheckpointCommitted by h1@1:4 .*closed$/);
});
