/**
 * Owns one readable example of each reason for a rejection, and of what must not be rejected. Random histories are in
 * fold.properties.test.ts.
 */

import {
  declared,
  digestOf,
  type Fields,
  holderEvent,
  inboxEvent,
  signalNamed,
  timerNamed,
} from '@tidemark/testkit/naive/events';
import { at, claimed, fold, opened, revoked } from '@tidemark/testkit/naive/folding';
import { describe, expect, test } from 'vitest';
import { type Envelope, type LogEntry, RULES_VERSION } from './event.ts';
import { workflowId } from './ids.ts';
import { INBOX_DEDUPE_MAX, SIGNALS_MAX, SIGNALS_MAX_BYTES, type StreamState } from './state.ts';
import type { RejectReason } from './verdict.ts';

const intended = (ordinal: number, control = {}) => holderEvent('EffectIntended', at(1, ordinal), control);
const resolved = (ordinal: number, control = {}) => holderEvent('EffectResolved', at(1, ordinal), control);
const committed = (ordinal: number, control = {}, fields: Fields = {}) =>
  holderEvent('CheckpointCommitted', at(1, ordinal), control, fields);
const completed = (ordinal: number) => holderEvent('WorkflowCompleted', at(1, ordinal));
const parked = (ordinal: number) => holderEvent('WorkflowParked', at(1, ordinal));

interface Example {
  readonly reason: RejectReason;
  readonly when: string;
  readonly before: readonly (Envelope | LogEntry)[];
  readonly rejected: Envelope | LogEntry;
}

const example = (
  reason: RejectReason,
  when: string,
  before: readonly (Envelope | LogEntry)[],
  rejected: Envelope | LogEntry,
): Example => ({ reason, when, before, rejected });

const start = [opened(), claimed()];
const startOfVersion2 = [opened({}, { version: 2 }), claimed()];
const fenced = inboxEvent('PartitionFenced');
const signal = inboxEvent('SignalReceived', { name: 'go' });

const REJECTED: readonly Example[] = [
  example('stale-epoch', 'a holder writes after it was revoked', [...start, revoked()], committed(2)),
  example('stale-epoch', 'a holder writes after another has claimed', [...start, revoked(), claimed(2)], committed(2)),
  example('stale-epoch', 'an epoch is claimed a second time', [...start, revoked()], claimed(1, 'late')),
  example('stale-epoch', 'a lease that has ended is revoked', [...start, revoked()], revoked()),
  example('wrong-holder', 'someone claims while a lease is live', start, claimed(2)),
  example('wrong-holder', 'someone writes in another holder’s epoch', start, {
    ...committed(2),
    holder: 'thief',
  } as Envelope),
  example('wrong-holder', 'an epoch that was never claimed is written in', [opened()], committed(2)),
  example('wrong-holder', 'a revoke names another holder', start, revoked(1, 'other')),
  example('wrong-holder', 'a revoke names an epoch still to come', start, revoked(2)),
  example('duplicate', 'the same bytes arrive twice', [...start, committed(2)], committed(2)),
  example('duplicate', 'a claim is sent again', start, claimed()),
  example('duplicate', 'an inbox id was seen before', [opened(), signal], signal),
  example('duplicate', 'a workflow is opened twice', [opened()], opened()),
  example('duplicate', 'a live workflow is opened under the next generation', [opened()], opened({ generation: 2 })),
  example(
    'duplicate',
    'a task is committed twice',
    [...start, committed(2)],
    committed(3, { sequence: 2, parent: 'c1' }),
  ),
  example('duplicate', 'an effect that is done is intended', [...start, intended(2), resolved(3)], intended(4)),
  example('duplicate', 'an effect that is done is resolved', [...start, intended(2), resolved(3)], resolved(4)),
  example(
    'duplicate',
    'a task gets a second reservation',
    [...start, holderEvent('CheckpointReserved', at(1, 2))],
    holderEvent('CheckpointReserved', at(1, 3), { checkpoint: 'c9' }),
  ),
  example('ordinal-gap', 'an earlier event of the holder was lost', start, committed(3)),
  example('ordinal-gap', 'an epoch is left out', [...start, revoked()], claimed(3)),
  example('wrong-parent', 'the parent is not the head', start, committed(2, { parent: 'c0' })),
  example('wrong-parent', 'the sequence is not the next', start, committed(2, { sequence: 2 })),
  example(
    'wrong-parent',
    'a checkpoint was built on one that was replaced',
    [...start, committed(2)],
    committed(3, { checkpoint: 'c2', task: '0.1' }),
  ),
  example('lamport-regression', 'the holder’s Lamport time stands still', start, committed(2, {}, { lamport: 1 })),
  example(
    'clock-regression',
    'a checkpoint is more than a second older than its parent',
    start,
    committed(2, {}, { atMs: 1_000_000 - 1_001 }),
  ),
  example('closed', 'the workflow has ended', [...start, completed(2)], signal),
  example('closed', 'a record of a later version reaches a workflow that has ended', [...start, completed(2)], {
    kind: 'unknown',
    workflow: workflowId('w'),
    generation: opened().generation,
    type: 'Dreamt',
    v: 2,
  }),
  example('parked', 'a parked workflow is claimed', [...start, parked(2)], claimed(2)),
  example('wrong-generation', 'the workflow is unknown here', [], signal),
  example('wrong-generation', 'an event is of another generation', [opened()], {
    ...signal,
    generation: 2,
  } as Envelope),
  example('wrong-generation', 'an event is of another tenant', [opened()], { ...signal, tenant: 'x' } as Envelope),
  example('wrong-generation', 'an opening leaves a generation out', [], opened({ generation: 2 })),
  example('wrong-generation', 'an opening names another partition', [], opened({}, { partition: 5 })),
  example('wrong-generation', 'an opening was under way when its partition was fenced', [fenced], opened()),
  example('wrong-generation', 'so was the one behind it', [fenced], opened({ generation: 2 })),
  example('wrong-generation', 'a fence names another partition', [], inboxEvent('PartitionFenced', { partition: 5 })),
  example('malformed', 'bytes are no event', [opened()], { kind: 'malformed', problem: 'no header line' }),
  example('unknown-task', 'a task of a checkpoint to come is committed', start, committed(2, { task: '1.0' })),
  example('unknown-task', 'nobody waits for the timer', [opened()], inboxEvent('TimerFired')),
  example('not-intended', 'an irreversible effect has an outcome and no intention', start, resolved(2)),
  example(
    'not-intended',
    'a second outcome follows a failed one without a new intention',
    [...start, intended(2), resolved(3, { outcome: 'failed' })],
    resolved(4),
  ),
  example(
    'not-intended',
    'an outcome calls an irreversible effect pure',
    [...start, intended(2), resolved(3, { outcome: 'failed' })],
    resolved(4, { kind: 'pure' }),
  ),
  example('not-intended', 'a step is committed over an open call', [...start, intended(2)], committed(3)),
  example(
    'request-changed',
    'a key comes back with another request',
    [...start, intended(2)],
    intended(3, { requestDigest: digestOf('other') }),
  ),
  example('not-asked', 'nobody was asked', start, inboxEvent('ApprovalDecided')),
  example(
    'not-asked',
    'an earlier question is answered',
    [...start, parked(2)],
    inboxEvent('ApprovalDecided', { question: 'an earlier one' }),
  ),
  example('not-asked', 'a compensation ends that was never begun', start, inboxEvent('CompensationFinished')),
  example(
    'signals-full',
    'a stream holds as many signals as it keeps, and nobody waits for this one',
    [opened(), ...Array.from({ length: SIGNALS_MAX }, () => inboxEvent('SignalReceived'))],
    inboxEvent('SignalReceived'),
  ),
  example('stale-version', 'a worker of an older version commits', startOfVersion2, committed(2, { stepVersion: 1 })),
  example(
    'stale-version',
    'a newer version commits to a workflow that is pinned',
    [opened({}, { pinned: true }), claimed()],
    committed(2, { stepVersion: 2 }),
  ),
  example(
    'request-changed',
    'an outcome belongs to another request',
    [...start, intended(2)],
    resolved(3, { requestDigest: digestOf('other') }),
  ),
];

describe('what is rejected changes nothing but the next offset', () => {
  test.each(REJECTED)('$reason: $when', ({ reason, before, rejected }) => {
    const prior = fold(...before);
    expect(prior.verdicts.filter((verdict) => verdict.kind !== 'accepted')).toEqual([]);
    const after = fold(...before, rejected);
    expect(after.last).toEqual({ kind: 'rejected', reason });
    expect(after.state).toEqual({ ...prior.state, next: before.length + 1 });
  });

  test('every reason has an example', () => {
    const all: Record<RejectReason, true> = {
      'stale-epoch': true,
      'wrong-holder': true,
      duplicate: true,
      'ordinal-gap': true,
      'wrong-parent': true,
      'lamport-regression': true,
      'clock-regression': true,
      closed: true,
      parked: true,
      'wrong-generation': true,
      malformed: true,
      'unknown-task': true,
      'not-intended': true,
      'request-changed': true,
      'signals-full': true,
      'not-asked': true,
      'stale-version': true,
    };
    expect([...new Set(REJECTED.map(({ reason }) => reason))].sort()).toEqual(Object.keys(all).sort());
  });
});

describe('what is accepted', () => {
  test('a checkpoint up to a second older than its parent, since clocks differ', () => {
    const { last, stream } = fold(...start, committed(2, {}, { atMs: 1_000_000 - 1_000 }));
    expect(last).toEqual({ kind: 'accepted', position: 3 });
    expect(stream.head).toEqual({ sequence: 1, checkpoint: 'c1', atMs: 999_000 });
  });

  test('a claim and an inbox event of any clock', () => {
    const { verdicts } = fold(
      opened({ lamport: 50, atMs: 5_000_000 }),
      { ...claimed(), lamport: 0, atMs: 0 } as Envelope,
      inboxEvent('SignalReceived', {}, { lamport: 0, atMs: 0 }),
    );
    expect(verdicts.map((verdict) => verdict.kind)).toEqual(['accepted', 'accepted', 'accepted']);
  });

  test('a reopened partition: the next generation drops what has closed', () => {
    const { state, last } = fold(...start, completed(2), opened({ workflow: 'w2', generation: 2 }));
    expect(last).toEqual({ kind: 'accepted', position: 1 });
    expect([...state.streams.keys()]).toEqual(['w2']);
    expect(state.generation).toBe(2);
  });

  test('an intention that is repeated, and an outcome for each', () => {
    const { stream, verdicts } = fold(
      ...start,
      intended(2),
      intended(3),
      resolved(4, { outcome: 'failed' }),
      intended(5),
      resolved(6),
    );
    expect(verdicts.every((verdict) => verdict.kind === 'accepted')).toBe(true);
    expect([...stream.frontier.tasks][0]?.effects).toMatchObject([{ status: 'done', kind: 'irreversible' }]);
  });

  test('the outcome of a pure operation without an intention', () => {
    expect(fold(...start, resolved(2, { kind: 'pure' })).last?.kind).toBe('accepted');
  });

  test('the last inbox ids are remembered, and no more', () => {
    const signals = Array.from({ length: INBOX_DEDUPE_MAX }, (_, n) =>
      inboxEvent('SignalReceived', { name: 'go' }, { id: `s${n}` }),
    );
    const again = inboxEvent('SignalReceived', { name: 'go' }, { id: 's0' });
    expect(fold(opened(), ...signals, again).last).toEqual({ kind: 'rejected', reason: 'duplicate' });
    const later = inboxEvent('SignalReceived', { name: 'go' }, { id: 'one more' });
    const { last, stream } = fold(opened(), ...signals, later, again);
    expect(last?.kind).toBe('accepted');
    expect(stream.inbox).toHaveLength(INBOX_DEDUPE_MAX);
  });
});

describe('a record that this process can’t read', () => {
  const unknown: LogEntry = {
    kind: 'unknown',
    workflow: workflowId('w'),
    generation: opened().generation,
    type: 'Dreamt',
    v: 2,
  };
  const other = { workflow: 'other', generation: 2 };

  test('parks its stream where it stands, and not its partition', () => {
    const { verdicts, stream, state } = fold(
      opened(),
      unknown,
      claimed(),
      opened(other),
      inboxEvent('SignalReceived', {}, other),
    );
    expect(verdicts.map((verdict) => verdict.kind)).toEqual([
      'accepted',
      'unreadable',
      'unreadable',
      'accepted',
      'accepted',
    ]);
    expect(stream.unreadable).toEqual({ offset: 1, type: 'Dreamt', v: 2 });
    expect(stream.position).toBe(1);
    expect(state.next).toBe(5);
  });

  test('a fence begins another era and forgets what has ended; what lives goes on', () => {
    const ended = [opened(), claimed(), holderEvent('WorkflowCompleted', at(1, 2))];
    const { state } = fold(...ended, opened({ workflow: 'v', generation: 2 }), fenced);
    expect([...state.streams.keys()]).toEqual(['v']);
    expect(fold(opened(), fenced, claimed()).last).toMatchObject({ kind: 'accepted' });
    expect(fold(fenced, opened({ generation: state.generation + 1 })).last).toMatchObject({ kind: 'accepted' });
    expect(fold(fenced, fenced).state.generation).toBe(2 * state.generation);
  });

  test('is rejected when it belongs to no stream here', () => {
    expect(fold(unknown).last).toEqual({ kind: 'rejected', reason: 'wrong-generation' });
  });

  test('signals that wait are bounded in bytes, but one alone is taken', () => {
    const signal = (sizeBytes: number) => inboxEvent('SignalReceived', { sizeBytes });
    const { verdicts, stream } = fold(opened(), signal(SIGNALS_MAX_BYTES + 1), signal(1), inboxEvent('SignalReceived'));
    expect(verdicts.map((verdict) => verdict.kind)).toEqual(['accepted', 'accepted', 'rejected', 'accepted']);
    expect(verdicts[2]).toMatchObject({ reason: 'signals-full' });
    expect(stream.signals).toHaveLength(2);
    const fits = fold(opened(), signal(SIGNALS_MAX_BYTES - 1), signal(1), signal(1));
    expect(fits.verdicts.map((verdict) => verdict.kind)).toEqual(['accepted', 'accepted', 'accepted', 'rejected']);
  });

  test('an opening under later rules is there, and unreadable from its first event', () => {
    const { verdicts, stream } = fold(opened({}, { rules: RULES_VERSION + 1 }), claimed());
    expect(verdicts.map((verdict) => verdict.kind)).toEqual(['accepted', 'unreadable']);
    expect(stream.unreadable).toEqual({ offset: 0, type: 'WorkflowOpened', v: RULES_VERSION + 1 });
  });

  test('a fork is known as one, and runs by the rules of all others', () => {
    const fork = { workflow: 'base', sequence: 3, effects: 'replay' } as const;
    const { stream } = fold(opened({}, { fork }), claimed(), committed(2));
    expect(stream).toMatchObject({ fork, head: { sequence: 1 }, unreadable: null });
    expect(fold(opened()).stream).not.toHaveProperty('fork');
  });
});

describe('signals and timers', () => {
  const waiting = (...when: ReturnType<typeof signalNamed | typeof timerNamed>[]) =>
    opened({}, { tasks: [declared('first', [], when), declared('second', [], when)] });
  const tasksOf = (stream: StreamState) =>
    [...stream.frontier.tasks].map(({ id, when, cause }) => ({ id, open: when.length, cause }));

  test('a signal that comes first waits for its task', () => {
    const go = inboxEvent('SignalReceived', { name: 'go' }, { id: 's1' });
    const { stream } = fold(
      opened(),
      claimed(),
      go,
      committed(2, { tasks: [declared('act', [], [signalNamed('go')])] }),
    );
    expect(stream.signals).toEqual([]);
    expect(stream.frontier.tasks.get([...stream.frontier.tasks].at(-1)!.id)?.cause).toEqual({
      kind: 'signal',
      name: 'go',
      event: 's1',
    });
  });

  test('a signal that comes second goes to the first task that waits, the next to the next, the third is kept', () => {
    const signals = ['s1', 's2', 's3'].map((id) => inboxEvent('SignalReceived', { name: 'go' }, { id }));
    const { stream } = fold(waiting(signalNamed('go')), ...signals);
    expect(tasksOf(stream)).toEqual([
      { id: '0.0', open: 0, cause: { kind: 'signal', name: 'go', event: 's1' } },
      { id: '0.1', open: 0, cause: { kind: 'signal', name: 'go', event: 's2' } },
    ]);
    expect(stream.signals).toEqual([{ name: 'go', event: 's3' }]);
  });

  test('one condition of several is enough, and then the timer is nobody’s', () => {
    const go = inboxEvent('SignalReceived', { name: 'go' }, { id: 's1' });
    const fired = inboxEvent('TimerFired', { timer: 'late' });
    const single = opened({}, { tasks: [declared('first', [], [signalNamed('go'), timerNamed('late')])] });
    const { stream, last } = fold(single, go, fired);
    expect(last).toEqual({ kind: 'rejected', reason: 'unknown-task' });
    expect(tasksOf(stream)).toEqual([{ id: '0.0', open: 0, cause: { kind: 'signal', name: 'go', event: 's1' } }]);
  });

  test('a failed task waits for its own timer', () => {
    const retry = { timer: 'retry 0.0', anchorMs: 1_000, delayMs: 500 };
    const failed = holderEvent('StepFailed', at(1, 2), { retry });
    const before = fold(...start, failed).stream;
    expect(before.frontier.tasks.get([...before.frontier.tasks][0]!.id)).toMatchObject({ failureCount: 1, retry });
    const after = fold(...start, failed, inboxEvent('TimerFired', { timer: 'retry 0.0' })).stream;
    expect([...after.frontier.tasks][0]).toMatchObject({ failureCount: 1, retry: null });
  });
});
