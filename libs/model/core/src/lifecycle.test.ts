/** Owns the tests of the fold for cancel, terminate, pause, resume and timeout. */

import { holderEvent, inboxEvent } from '@tidemark/testkit/naive/events';
import { describe, expect, test } from 'vitest';
import type { Envelope } from './event.ts';
import { foldEntries } from './fold.ts';
import { offset, partition, type WorkflowId } from './ids.ts';
import { streamFromJson, streamToJson } from './serialise.ts';
import { emptyPartition, type StreamState } from './state.ts';

const token = (ordinal: number, epoch = 1) => ({ epoch, holder: `h${epoch}`, ordinal });
const task = { step: 'scan', after: [], when: [] };
const opened = (control: object = {}): Envelope => inboxEvent('WorkflowOpened', { tasks: [task], ...control });
const claimed = (epoch = 1): Envelope => holderEvent('LeaseClaimed', token(1, epoch));
const parked = (): Envelope => holderEvent('WorkflowParked', token(2));
const cancel = (): Envelope => inboxEvent('CancelRequested');
const pause = (): Envelope => inboxEvent('PauseRequested');

function fold(...events: readonly Envelope[]): { readonly stream: StreamState; readonly words: readonly string[] } {
  const entries = events.map((envelope) => ({ kind: 'event', envelope, payload: new Uint8Array() }) as const);
  const { state, verdicts } = foldEntries(emptyPartition(partition(0), offset(0)), entries);
  const words = verdicts.map((verdict) => (verdict.kind === 'rejected' ? verdict.reason : verdict.kind));
  return { stream: state.streams.get('w' as WorkflowId)!, words };
}

describe('a cancel', () => {
  test('is a ruling for the next holder, once', () => {
    const { stream, words } = fold(opened(), cancel(), inboxEvent('CancelRequested', { by: 'bob' }));
    expect(words).toEqual(['accepted', 'accepted', 'not-asked']);
    expect(stream).toMatchObject({ status: 'open', ruling: 'cancel', cancel: { code: 'cancelled', by: 'ann' } });
    expect(streamFromJson(streamToJson(stream), [])).toMatchObject({ ruling: 'cancel' });
  });

  test('ends a question and a pause', () => {
    expect(fold(opened(), claimed(), parked(), cancel()).stream).toMatchObject({
      status: 'open',
      question: null,
      ruling: 'cancel',
    });
    expect(fold(opened(), pause(), cancel()).stream.paused).toBeUndefined();
  });

  test('outlasts the question that it leads to, however that is answered', () => {
    const park = parked();
    const retried = inboxEvent('ApprovalDecided', { question: park.id, resolution: 'retry' });
    expect(fold(opened(), cancel(), claimed(), park, retried).stream).toMatchObject({
      status: 'open',
      ruling: 'cancel',
    });
    const failed = inboxEvent('ApprovalDecided', { question: park.id, resolution: 'fail' });
    expect(fold(opened(), cancel(), claimed(), park, failed).stream.ruling).toBe('fail');
  });

  test('is nothing for an undo, a shadow run, or what is being compensated', () => {
    expect(fold(opened({ compensates: { workflow: 'v', depth: 1 } }), cancel()).words.at(-1)).toBe('not-asked');
    expect(fold(opened({ shadow: true }), cancel()).words.at(-1)).toBe('not-asked');
    const started = holderEvent('CompensationStarted', token(2));
    for (const late of [cancel(), pause(), inboxEvent('WorkflowTerminated')]) {
      expect(fold(opened(), claimed(), started, late).words.at(-1)).toBe('not-asked');
    }
  });
});

describe('an end from outside', () => {
  test('closes the stream over its holder', () => {
    const late = holderEvent('WorkflowCompleted', token(2));
    const { stream, words } = fold(opened(), claimed(), inboxEvent('WorkflowTerminated'), late);
    expect(words.slice(2)).toEqual(['accepted', 'closed']);
    expect(stream).toMatchObject({ status: 'failed', reason: 'terminated', lease: null });
  });
});

describe('a pause', () => {
  test('lets nobody claim, until it is over', () => {
    const resumed = inboxEvent('ResumeRequested');
    const { words } = fold(opened(), pause(), claimed(), inboxEvent('PauseRequested'), resumed, claimed());
    expect(words).toEqual(['accepted', 'accepted', 'parked', 'not-asked', 'accepted', 'accepted']);
    expect(fold(opened(), inboxEvent('ResumeRequested')).words.at(-1)).toBe('not-asked');
  });

  test('takes no lease away', () => {
    const failed = holderEvent('StepFailed', token(2));
    expect(fold(opened(), claimed(), pause(), failed).words).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);
  });
});

describe('a timeout', () => {
  const fired = (): Envelope => inboxEvent('TimerFired', { timer: 'timeout' });

  test('is a cancel when its time has come, and is not counted anew by anything', () => {
    const timed = opened({ timeoutMs: 5_000 });
    expect(fold(timed).stream.deadline).toEqual({ timer: 'timeout', anchorMs: 1_000_000, delayMs: 5_000 });
    const { stream, words } = fold(timed, claimed(), fired(), fired());
    expect(words.slice(2)).toEqual(['accepted', 'unknown-task']);
    expect(stream).toMatchObject({ ruling: 'cancel', cancel: { code: 'timed-out' } });
    expect(stream.deadline).toBeUndefined();
  });

  test('is over where the workflow is being compensated already', () => {
    const started = holderEvent('CompensationStarted', token(2));
    const { stream, words } = fold(opened({ timeoutMs: 5_000 }), claimed(), started, fired());
    expect(words.at(-1)).toBe('accepted');
    expect(stream).toMatchObject({ status: 'compensating', ruling: null });
  });
});
