/** Owns the tests of the checkers on bad histories: a checker that can't fail shows nothing. */

import type { Envelope, LogEntry, Position, Verdict } from '@tidemark/core';
import { expect, test } from 'vitest';
import { checkChain, checkEffects, checkFencing, checkPositions } from './checkers.ts';
import { entryOf, holderEvent, inboxEvent } from './events.ts';

type Checker = (entries: readonly LogEntry[], verdicts: readonly Verdict[]) => string[];

/** As if a fold had accepted everything, at positions 1, 2, 3 … */
function accepted(check: Checker, ...events: Envelope[]): string[] {
  const verdicts = events.map((_, at): Verdict => ({ kind: 'accepted', position: (at + 1) as Position }));
  return check(events.map(entryOf), verdicts);
}

const at = (epoch: number, ordinal: number, holder = `h${epoch}`) => ({ epoch, ordinal, holder });
const opened = inboxEvent('WorkflowOpened');
const claimed = (epoch: number, holder?: string) => holderEvent('LeaseClaimed', at(epoch, 1, holder));
const committed = (ordinal: number, control: object = {}, epoch = 1) =>
  holderEvent('CheckpointCommitted', at(epoch, ordinal), control);
const intended = (ordinal: number, control: object = {}) => holderEvent('EffectIntended', at(1, ordinal), control);
const resolved = (ordinal: number, control: object = {}) => holderEvent('EffectResolved', at(1, ordinal), control);
const pending = (ordinal: number) => holderEvent('EffectPending', at(1, ordinal));
/** Asks what became of the effect; the answer names the question. */
const question = holderEvent('WorkflowParked', at(1, 1), { task: '0.0', key: 'w:0.0:pay:0' } as never);
const parked = (ordinal: number) => ({ ...question, ordinal }) as Envelope;
const reported = { question: question.id, resolution: 'done' } as const;
const second = { checkpoint: 'c2', sequence: 2, parent: 'c1' };

test.each<[string, Checker, Envelope[]]>([
  ['a sequence left out', checkChain, [committed(2), committed(3, { ...second, sequence: 3 })]],
  ['a sequence given twice', checkChain, [committed(2), committed(3)]],
  ['a foreign parent', checkChain, [committed(2), committed(3, { ...second, parent: 'c9' })]],
  ['a write without a lease', checkFencing, [opened, committed(2)]],
  ['a write after a revoke', checkFencing, [claimed(1), inboxEvent('LeaseRevoked'), committed(2)]],
  [
    'a write of an older epoch after a newer claim',
    checkFencing,
    [claimed(1), inboxEvent('LeaseRevoked'), claimed(2), committed(2)],
  ],
  ['two claims of one epoch', checkFencing, [claimed(1), claimed(1, 'other')]],
  ['a claim while a lease is live', checkFencing, [claimed(1), claimed(2)]],
  ['a hole in the ordinals', checkFencing, [claimed(1), committed(3)]],
  ['another holder in the epoch', checkFencing, [claimed(1), holderEvent('LeaseReleased', at(1, 2, 'other'))]],
  ['an outcome without an intention', checkEffects, [resolved(2)]],
  ['two outcomes of one intention', checkEffects, [intended(2), resolved(3, { outcome: 'failed' }), resolved(4)]],
  [
    'an irreversible effect resolved as pure',
    checkEffects,
    [intended(2), resolved(3, { outcome: 'failed' }), resolved(4, { kind: 'pure' })],
  ],
  ['a call after the outcome', checkEffects, [intended(2), resolved(3), intended(4)]],
  ['a confirmation that nobody awaits', checkEffects, [intended(2), inboxEvent('EffectConfirmed')]],
  ['an effect that is awaited without an intention', checkEffects, [pending(2)]],
  [
    'a second confirmation of one token',
    checkEffects,
    [intended(2), pending(3), inboxEvent('EffectConfirmed'), inboxEvent('EffectConfirmed')],
  ],
  [
    'an outcome after the confirmation',
    checkEffects,
    [intended(2), pending(3), inboxEvent('EffectConfirmed'), resolved(4)],
  ],
  [
    'a person who decides that what is known as done was not',
    checkEffects,
    [intended(2), resolved(3), parked(4), inboxEvent('ApprovalDecided', { ...reported, resolution: 'not-done' })],
  ],
  ['a write of a holder whose workflow is parked', checkFencing, [claimed(1), parked(2), committed(3)]],
  [
    'a write of a holder whose workflow is being compensated',
    checkFencing,
    [claimed(1), holderEvent('CompensationStarted', at(1, 2)), committed(3)],
  ],
  [
    'an event after the compensation',
    checkPositions,
    [opened, inboxEvent('CompensationFinished'), inboxEvent('SignalReceived')],
  ],
  [
    'an event after the end',
    checkPositions,
    [opened, holderEvent('WorkflowCompleted', at(1, 2)), inboxEvent('SignalReceived')],
  ],
])('sees %s', (_, check, history) => {
  expect(accepted(check, ...history)).not.toEqual([]);
});

test('sees a hole in the positions', () => {
  const verdicts: Verdict[] = [1, 3].map((position) => ({ kind: 'accepted', position: position as Position }));
  expect(checkPositions([entryOf(opened), entryOf(claimed(1))], verdicts)).toEqual(['w/1: position 3 instead of 2']);
});

test('finds nothing in a sound history', () => {
  const sound = [opened, claimed(1), intended(2), resolved(3), committed(4), committed(5, second)];
  for (const check of [checkChain, checkFencing, checkEffects, checkPositions])
    expect(accepted(check, ...sound)).toEqual([]);
});

test('finds nothing where others told the outcome', () => {
  const confirmed = [opened, claimed(1), intended(2), pending(3), inboxEvent('EffectConfirmed'), committed(4)];
  const decided = [opened, claimed(1), intended(2), parked(3), inboxEvent('ApprovalDecided', reported), claimed(2)];
  for (const history of [confirmed, decided]) {
    for (const check of [checkChain, checkFencing, checkEffects, checkPositions])
      expect(accepted(check, ...history)).toEqual([]);
  }
});

test('looks only at what was accepted', () => {
  const rejected: Verdict = { kind: 'rejected', reason: 'not-intended' };
  expect(checkEffects([entryOf(resolved(2))], [rejected])).toEqual([]);
});
