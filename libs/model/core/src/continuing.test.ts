/** Owns the tests of the fold for workflows that continue as new: what a run passes on, and what the next begins with. */

import { holderEvent, inboxEvent } from '@tidemark/testkit/naive/events';
import { describe, expect, test } from 'vitest';
import { continuationId, derivedFormOf, nthId, nthOf } from './derived-ids.ts';
import type { Envelope } from './event.ts';
import { foldEntries } from './fold.ts';
import { offset, partition, type TaskId, type WorkflowId, workflowId } from './ids.ts';
import { emptyPartition, INBOX_DEDUPE_MAX, type StreamState } from './state.ts';

const token = (ordinal: number) => ({ epoch: 1, holder: 'h1', ordinal });
const waits = (name: string) => ({ step: 'hear', after: [], when: [{ kind: 'signal', name }] });
const turn = { step: 'turn', after: [], when: [] };
const opened = (control: object = {}): Envelope => inboxEvent('WorkflowOpened', { tasks: [turn], ...control });
const claimed = (): Envelope => holderEvent('LeaseClaimed', token(1));
const openContinued = (continued = 'w~2', ordinal = 2): Envelope =>
  holderEvent('WorkflowCompleted', token(ordinal), { continued });
const signal = (name: string, id: string): Envelope => inboxEvent('SignalReceived', { name }, { id });

function fold(...events: readonly Envelope[]): { readonly stream: StreamState; readonly words: readonly string[] } {
  const entries = events.map((envelope) => ({ kind: 'event', envelope, payload: new Uint8Array() }) as const);
  const { state, verdicts } = foldEntries(emptyPartition(partition(0), offset(0)), entries);
  const words = verdicts.map((verdict) => (verdict.kind === 'rejected' ? verdict.reason : verdict.kind));
  return { stream: state.streams.get('w' as WorkflowId)!, words };
}

describe('a history that is continued', () => {
  test('is completed, and says as what it goes on', () => {
    const { stream, words } = fold(opened(), claimed(), openContinued());
    expect(words).toEqual(['accepted', 'accepted', 'accepted']);
    expect(stream).toMatchObject({
      status: 'completed',
      reason: 'continued',
      lease: null,
      continued: { as: 'w~2', spent: { tokens: 0, costMicros: 0 } },
    });
  });

  test('leaves the signals that nobody has looked at, those of dropped tasks first', () => {
    const tasks = [turn, waits('a')];
    const events = [
      opened({ tasks }),
      claimed(),
      signal('a', 's1'),
      signal('b', 's2'),
      signal('a', 's3'),
      openContinued(),
    ];
    expect(fold(...events).stream.signals).toEqual([
      { name: 'a', event: 's1' },
      { name: 'b', event: 's2' },
      { name: 'a', event: 's3' },
    ]);
  });

  test('that ends instead says so where a signal was seen by no step', () => {
    const ended = (...signals: readonly Envelope[]) =>
      fold(opened({ tasks: [turn, waits('a')] }), claimed(), ...signals, holderEvent('WorkflowCompleted', token(2)))
        .stream;
    expect(ended()).toMatchObject({ status: 'completed', reason: null });
    // One that no task waits for, and one of a task that is dropped.
    for (const name of ['b', 'a']) {
      expect(ended(signal(name, 's1'))).toMatchObject({ status: 'completed', reason: 'signals-unread' });
    }
  });

  test('goes on as no other, and not once it is cancelled', () => {
    expect(fold(opened(), claimed(), openContinued('x~2')).words.at(-1)).toBe('not-asked');
    const { stream, words } = fold(opened(), claimed(), inboxEvent('CancelRequested'), openContinued());
    expect(words.at(-1)).toBe('not-asked');
    expect(stream).toMatchObject({ status: 'open', ruling: 'cancel' });
  });

  test('takes no signal any more', () => {
    expect(fold(opened(), claimed(), openContinued(), signal('a', 's1')).words.at(-1)).toBe('closed');
  });
});

describe('the history that goes on', () => {
  const spent = { tokens: 7, costMicros: 9 };
  const continues = (more: object = {}) => ({ continues: { workflow: 'v', spent, ...more } });

  test('begins with what was left: signals for its first tasks, a pause, what was spent', () => {
    const left = [
      { name: 'a', event: 's1' },
      { name: 'b', event: 's2' },
    ];
    const paused = { by: 'ann', atMs: 5 };
    const { stream } = fold(opened({ tasks: [waits('b')], ...continues({ signals: left, paused }) }), claimed());
    expect(stream).toMatchObject({ continues: 'v', spentBefore: spent, paused: { by: 'ann', atMs: 5 }, lease: null });
    expect(stream.signals).toEqual([left[0]]);
    expect([...stream.frontier.tasks][0]?.cause).toEqual({ kind: 'signal', name: 'b', event: 's2' });
  });

  test('takes a signal once that was sent to the one before', () => {
    expect(fold(opened(continues({ taken: ['s1'] })), signal('a', 's1')).words).toEqual(['accepted', 'duplicate']);
  });

  test('forgets the oldest of too many, and not the newest', () => {
    const taken = Array.from({ length: INBOX_DEDUPE_MAX }, (_, n) => `s${n}`);
    const { inbox } = fold(opened(continues({ taken }))).stream;
    expect(inbox).toHaveLength(INBOX_DEDUPE_MAX);
    expect(inbox.slice(1)).toEqual(taken.slice(1));
  });

  test('passes on what all before it have spent', () => {
    const { stream } = fold(opened(continues()), claimed(), openContinued());
    expect(stream.continued?.spent).toEqual(spent);
  });
});

test('ids follow from one another', () => {
  const ids = ['w', 'w~2', 'w~3', 'w~9', 'w~10', 'p~1.0', 'p~1.0~2', 'w~1', 'w~02', 'w~undo'];
  expect(ids.map((id) => continuationId(workflowId(id)))).toEqual([
    ...['w~2', 'w~3', 'w~4', 'w~10', 'w~11', 'p~1.0~2', 'p~1.0~3', 'w~1~2', 'w~02~2', 'w~undo~2'],
  ]);
  expect(ids.filter((id) => derivedFormOf(id) === 'continuation')).toEqual(['w~2', 'w~3', 'w~9', 'w~10', 'p~1.0~2']);
  for (const id of ids) expect(nthId(nthOf(workflowId(id)))).toBe(id);
});

describe('a history that is reset', () => {
  const reset = (as = 'w~2'): Envelope => inboxEvent('WorkflowReset', { as, at: 0 });
  const effect = (kind: string, control: object = {}) =>
    holderEvent('EffectIntended', token(2), { kind, ...control } as object);

  test('is superseded at once, whoever holds it, and takes nothing further', () => {
    const { stream, words } = fold(opened(), claimed(), signal('a', 's1'), reset(), effect('pure'), reset('w~3'));
    expect(words.slice(3)).toEqual(['accepted', 'closed', 'closed']);
    expect(stream).toMatchObject({
      ...{ status: 'completed', reason: 'superseded', lease: null, question: null },
      ...{ continued: { as: 'w~2' }, signals: [{ name: 'a', event: 's1' }] },
    });
  });

  test('stays while a call of it may still act, and is reset during one of a model', () => {
    const model = { model: { bundle: null, reserved: { tokens: 5, costMicros: 7 } } };
    const of = (...events: readonly Envelope[]) => fold(opened(), claimed(), ...events, reset());
    expect(of(effect('irreversible')).words.at(-1)).toBe('not-asked');
    expect(of(effect('idempotent')).words.at(-1)).toBe('not-asked');
    // Whether that is paid for is not known.
    expect(of(effect('idempotent', model)).stream.continued?.spent).toEqual({
      ...{ tokens: 0, costMicros: 0, unknownCalls: 1, unknownTokens: 5, unknownCostMicros: 7 },
    });
    expect(of(effect('irreversible'), holderEvent('EffectResolved', token(3))).words.at(-1)).toBe('accepted');
  });

  test('stays when it is cancelled or compensated, or names another run', () => {
    expect(fold(opened(), inboxEvent('CancelRequested'), reset()).words.at(-1)).toBe('not-asked');
    const compensating = holderEvent('CompensationStarted', token(2));
    expect(fold(opened(), claimed(), compensating, reset()).words.at(-1)).toBe('not-asked');
    expect(fold(opened(), reset('w~3')).words.at(-1)).toBe('not-asked');
  });
});

describe('a signal that no step has read', () => {
  const amend = (of: string, id: string, name = 'a') => inboxEvent('SignalReceived', { name, replaces: of }, { id });
  const discard = (of: string): Envelope => inboxEvent('SignalDiscarded', { signal: of });
  const waiting = opened({ tasks: [waits('a')] });

  test('has the value of the event that amends it, in its place', () => {
    const { stream, words } = fold(opened(), signal('a', 's1'), signal('a', 's2'), amend('s1', 's3'));
    expect(words.at(-1)).toBe('accepted');
    expect(stream.signals).toEqual([
      { name: 'a', event: 's3' },
      { name: 'a', event: 's2' },
    ]);
    expect(fold(opened(), signal('a', 's1'), amend('s1', 's3', 'b')).words.at(-1)).toBe('not-asked');
    expect(fold(opened(), amend('s1', 's3')).words.at(-1)).toBe('not-asked');
  });

  test('is amended in the task that it unblocked, unless a holder may be reading it', () => {
    const { stream } = fold(waiting, signal('a', 's1'), amend('s1', 's2'));
    expect(stream.frontier.tasks.get('0.0' as TaskId)?.cause).toMatchObject({ event: 's2' });
    expect(fold(waiting, signal('a', 's1'), claimed(), amend('s1', 's2')).words.at(-1)).toBe('not-asked');
    expect(fold(waiting, signal('a', 's1'), claimed(), discard('s1')).words.at(-1)).toBe('not-asked');
  });

  test('is discarded: the next one takes its place, or the task waits again', () => {
    expect(fold(opened(), signal('a', 's1'), discard('s1')).stream.signals).toEqual([]);
    expect(fold(opened(), signal('a', 's1'), discard('s9')).words.at(-1)).toBe('not-asked');
    const task = (stream: StreamState) => stream.frontier.tasks.get('0.0' as TaskId);
    const next = fold(waiting, signal('a', 's1'), signal('a', 's2'), discard('s1')).stream;
    expect(task(next)?.cause).toMatchObject({ event: 's2' });
    expect(next.signals).toEqual([]);
    const again = task(fold(waiting, signal('a', 's1'), discard('s1')).stream);
    expect(again).toMatchObject({ cause: null, when: [{ kind: 'signal', name: 'a' }] });
    expect(again).not.toHaveProperty('awaited');
  });
});
