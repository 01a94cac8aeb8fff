/**
 * Owns readable examples of what the fold does after failures: late outcomes, questions to people, compensation, deaths of holders,
 * versions; and of who may not write any of these. Random histories are in fold.properties.test.ts.
 */

import { declared, digestOf, holderEvent, inboxEvent } from '@tidemark/testkit/naive/events';
import { at, claimed, fold, opened, revoked } from '@tidemark/testkit/naive/folding';
import { describe, expect, test } from 'vitest';
import { spentBy } from './continuing.ts';
import type { Envelope } from './event.ts';
import { CRASH_TIMES_MAX, SILENT_HOLDERS_MAX } from './state.ts';

const KEY = 'w:0.0:pay:0';
const QUESTION = 'q1';
const start = [opened(), claimed()];
const intended = (ordinal: number, control = {}, epoch = 1) =>
  holderEvent('EffectIntended', at(epoch, ordinal), control);
const resolved = (ordinal: number, control = {}, epoch = 1) =>
  holderEvent('EffectResolved', at(epoch, ordinal), control);
const timer = (name: string) => ({ timer: name, anchorMs: 0, delayMs: 500 });
const pending = (ordinal: number, control = {}, epoch = 1) =>
  holderEvent('EffectPending', at(epoch, ordinal), { probe: timer('probe'), deadline: timer('overdue'), ...control });
const failed = (ordinal: number, control = {}, epoch = 1) => holderEvent('StepFailed', at(epoch, ordinal), control);
const committed = (ordinal: number, control = {}, epoch = 1) =>
  holderEvent('CheckpointCommitted', at(epoch, ordinal), control);
const asked = (ordinal: number, control = {}, epoch = 1, id = QUESTION) =>
  holderEvent('WorkflowParked', at(epoch, ordinal), { task: '0.0', key: KEY, ...control }, { id });
const compensationStarted = (ordinal: number, control = {}, epoch = 1) =>
  holderEvent('CompensationStarted', at(epoch, ordinal), control);
const confirmed = (control = {}) => inboxEvent('EffectConfirmed', control);
const decided = (control = {}) => inboxEvent('ApprovalDecided', { question: QUESTION, ...control });
const reported = digestOf('told');
const done = { resolution: 'done', responseDigest: reported } as const;
const notDone = { resolution: 'not-done' } as const;
const finished = (control = {}) => inboxEvent('CompensationFinished', control);
const fired = (name: string) => inboxEvent('TimerFired', { timer: name });

/** Every event but the last is accepted. The last is rejected for this reason and changes nothing but the next offset. */
function refused(reason: string, ...history: readonly Envelope[]): void {
  const before = fold(...history.slice(0, -1));
  expect(before.verdicts.filter(({ kind }) => kind !== 'accepted')).toEqual([]);
  const after = fold(...history);
  expect(after.last).toEqual({ kind: 'rejected', reason });
  expect(after.state).toEqual({ ...before.state, next: history.length });
}

function accepted(...history: readonly Envelope[]) {
  const folded = fold(...history);
  expect(folded.verdicts.filter(({ kind }) => kind !== 'accepted')).toEqual([]);
  return folded;
}

describe('an outcome that comes late', () => {
  const awaited = [...start, intended(2), pending(3)];

  test('is awaited: its task is blocked, its step can’t be committed, and it is not called again', () => {
    const [effect] = accepted(...awaited).task.effects;
    expect(effect).toMatchObject({ status: 'pending', pending: { token: 'r1', isDue: false } });
    refused('not-intended', ...awaited, committed(4));
    refused('duplicate', ...awaited, intended(4));
  });

  test.each(['done', 'failed'] as const)('is confirmed as %s, without a lease too, and once', (outcome) => {
    const history = [...awaited, revoked(), confirmed({ outcome })];
    expect(accepted(...history).task.effects).toMatchObject([
      { status: outcome, responseDigest: digestOf('response'), pending: null, timeoutMs: 1_000 },
    ]);
    refused('unknown-task', ...history, confirmed({ outcome }));
    refused('unknown-task', ...history, confirmed({ outcome: 'failed' }));
  });

  test('may be resolved by its holder, whom the probe told', () => {
    const history = [...awaited, resolved(4)];
    expect(accepted(...history).task.effects).toMatchObject([{ status: 'done', pending: null }]);
    refused('unknown-task', ...history, confirmed());
    refused('duplicate', ...history, pending(5));
  });

  test('names its effect by the token, and an unknown one names none', () => {
    refused('unknown-task', ...awaited, confirmed({ token: 'r2' }));
    refused('unknown-task', ...start, intended(2), confirmed());
  });

  test('needs a call: nothing that wasn’t intended, or has failed, is pending', () => {
    refused('not-intended', ...start, pending(2));
    refused('not-intended', ...start, intended(2), resolved(3, { outcome: 'failed' }), pending(4));
    refused('unknown-task', ...start, pending(2, { task: '1.0' }));
  });

  test('is probed when its timer fires, and awaited on with new timers', () => {
    const due = accepted(...awaited, fired('probe')).task.effects[0]?.pending;
    expect(due).toMatchObject({ isDue: true, probe: null, deadline: { timer: 'overdue' } });
    const again = [...awaited, fired('probe'), pending(4, { probe: timer('probe 2') })];
    expect(accepted(...again).task.effects[0]?.pending).toMatchObject({ isDue: false, probe: { timer: 'probe 2' } });
    refused('unknown-task', ...again, fired('probe'));
  });

  test('is overdue when its first wait said, however often it is awaited on', () => {
    const later = { ...timer('overdue'), anchorMs: 9_000 };
    const again = accepted(...awaited, fired('probe'), pending(4, { deadline: later })).task.effects[0]?.pending;
    expect(again?.deadline).toEqual(timer('overdue'));
  });

  test('is overdue when the deadline fires, and nothing more is waited for', () => {
    const overdue = [...awaited, fired('overdue')];
    expect(accepted(...overdue).task.effects[0]?.pending).toMatchObject({ isDue: true, probe: null, deadline: null });
    refused('unknown-task', ...overdue, fired('probe'));
    // A late confirmation is still accepted.
    expect(accepted(...overdue, confirmed()).task.effects).toMatchObject([{ status: 'done' }]);
  });

  test('answers the question that a person was asked about it', () => {
    const history = [...awaited, fired('overdue'), asked(4), confirmed()];
    expect(accepted(...history).stream).toMatchObject({ status: 'open', question: null, reason: null });
    refused('not-asked', ...history, decided(done));
  });

  test('leaves a question about something else open', () => {
    const history = [...awaited, asked(4, { code: 'poison', key: null }), confirmed()];
    expect(accepted(...history).stream).toMatchObject({ status: 'parked', question: { id: QUESTION } });
  });
});

describe('a question to a person', () => {
  const parked = [...start, failed(2), intended(3), asked(4)];

  test('stands in the state, and nobody may claim meanwhile', () => {
    const { stream } = accepted(...parked);
    expect(stream).toMatchObject({
      status: 'parked',
      lease: null,
      question: { id: QUESTION, code: 'effect-unknown', task: '0.0', key: KEY },
    });
    refused('parked', ...parked, claimed(2));
  });

  test.each([
    ['retry', {}, 'intended', 0, null],
    ['done', done, 'done', 0, null],
    ['not-done', notDone, 'failed', 0, null],
    ['compensate', { resolution: 'compensate' }, 'intended', 1, 'compensate'],
    ['fail', { resolution: 'fail' }, 'intended', 1, 'fail'],
  ] as const)('answered by %s', (_, control, status, failureCount, ruling) => {
    const { stream, task } = accepted(...parked, decided(control));
    expect(stream).toMatchObject({ status: 'open', reason: null, question: null, ruling });
    expect(task).toMatchObject({ failureCount, effects: [{ status, pending: null }] });
    accepted(...parked, decided(control), claimed(2));
  });

  test('takes one answer, and only its own', () => {
    refused('not-asked', ...parked, decided(), decided());
    refused('not-asked', ...parked, decided({ question: 'another' }));
    const next = [...parked, decided(), claimed(2), asked(2, {}, 2, 'q2')];
    refused('not-asked', ...next, decided());
    accepted(...next, decided({ question: 'q2' }));
  });

  test('takes the same answer, sent again, as a repetition', () => {
    const answer = decided();
    refused('duplicate', ...parked, answer, answer);
  });

  test('about an effect: `done` brings its response, `not-done` has none', () => {
    refused('not-asked', ...parked, decided({ resolution: 'done' }));
    refused('not-asked', ...parked, decided({ ...notDone, responseDigest: reported }));
  });

  test('about no effect can’t be answered by what became of one', () => {
    const poison = [...start, failed(2), asked(3, { code: 'poison', key: null })];
    refused('not-asked', ...poison, decided(done));
    refused('not-asked', ...poison, decided(notDone));
    refused('not-asked', ...start, failed(2), asked(3, { task: null, key: null }), decided(done));
    refused('not-asked', ...start, asked(2, { task: '7.0' }), decided(notDone));
  });

  test('about an effect that is done is not answered by another outcome', () => {
    refused('not-asked', ...start, intended(2), resolved(3), asked(4), decided(notDone));
  });

  test('once the workflow has ended there is none', () => {
    const ended = [...start, holderEvent('WorkflowCompleted', at(1, 2))];
    for (const late of [decided(), confirmed(), finished(), inboxEvent('SignalReceived'), inboxEvent('VersionPinned')])
      refused('closed', ...ended, late);
  });

  test('a later `retry` ends an earlier ruling; deciding an effect leaves it', () => {
    const ruled = [...parked, decided({ resolution: 'compensate' }), claimed(2), asked(2, {}, 2, 'q2')];
    expect(accepted(...ruled, decided({ question: 'q2' })).stream.ruling).toBeNull();
    expect(accepted(...ruled, decided({ question: 'q2', ...notDone })).stream.ruling).toBe('compensate');
    expect(accepted(...ruled, decided({ question: 'q2', resolution: 'fail' })).stream.ruling).toBe('fail');
  });
});

describe('undoing', () => {
  test('freezes the workflow until it has ended', () => {
    const frozen = [...start, compensationStarted(2)];
    expect(accepted(...frozen).stream).toMatchObject({
      status: 'compensating',
      reason: 'effect-unknown',
      undo: 'w~undo',
      lease: null,
    });
    refused('parked', ...frozen, claimed(2));
    refused('stale-epoch', ...frozen, committed(3));
    refused('not-asked', ...frozen, decided());
  });

  test('a second one is not begun', () => {
    refused('stale-epoch', ...start, compensationStarted(2), compensationStarted(3));
    refused('closed', ...start, compensationStarted(2), finished(), compensationStarted(3));
  });

  test.each([
    ['compensated', 'compensated', 'effect-unknown'],
    ['failed', 'failed', 'compensation-failed'],
  ] as const)('ends it as %s', (outcome, status, reason) => {
    const ended = [...start, compensationStarted(2), finished({ outcome })];
    expect(accepted(...ended).stream).toMatchObject({ status, reason, closedInGeneration: 1 });
    refused('closed', ...ended, finished({ outcome }));
  });

  test('is ended only by the workflow that does it', () => {
    refused('not-asked', ...start, compensationStarted(2), finished({ undo: 'other~undo' }));
    refused('not-asked', ...start, finished());
  });

  test('is begun over no unknown outcome, but the one that it is begun for', () => {
    refused('not-intended', ...start, intended(2), compensationStarted(3));
    refused('not-intended', ...start, intended(2), pending(3), compensationStarted(4));
    accepted(...start, intended(2), compensationStarted(3, { key: KEY }));
    accepted(...start, intended(2), resolved(3), compensationStarted(4));
    const other = { task: '0.0', key: 'w:0.0:pay:1' };
    refused('not-intended', ...start, intended(2), intended(3, other), compensationStarted(4, { key: KEY }));
  });

  test('for an effect that never happened undoes what did', () => {
    expect(accepted(...start, compensationStarted(2, { key: 'w:0.0:never:0' })).stream.status).toBe('compensating');
  });

  test('fulfils the ruling', () => {
    const ruled = [...start, asked(2), decided({ resolution: 'compensate' }), claimed(2)];
    expect(accepted(...ruled, compensationStarted(2, {}, 2)).stream.ruling).toBeNull();
    expect(accepted(...ruled, holderEvent('WorkflowFailed', at(2, 2))).stream.ruling).toBeNull();
  });
});

describe('deaths of holders', () => {
  const death = (epoch: number) => [claimed(epoch), revoked(epoch, `h${epoch}`, { atMs: epoch * 1_000 })];
  const deaths = (count: number) => Array.from({ length: count }, (_, index) => death(index + 1)).flat();

  test('are counted, the last of them with their times', () => {
    expect(accepted(opened(), ...deaths(2)).stream).toMatchObject({
      crashCount: 2,
      crashTimesMs: [1_000, 2_000],
      isUnsettled: true,
    });
    const { crashCount, crashTimesMs } = accepted(opened(), ...deaths(CRASH_TIMES_MAX + 2)).stream;
    expect(crashCount).toBe(CRASH_TIMES_MAX + 2);
    expect(crashTimesMs).toHaveLength(CRASH_TIMES_MAX);
    expect(crashTimesMs.at(0)).toBe(3_000);
  });

  test.each([
    ['holder-dead', 1],
    ['lease-not-listed', 1],
    ['asked', 0],
  ] as const)('a revoke for %s counts %i', (reason, crashCount) => {
    const end = inboxEvent('LeaseRevoked', { reason });
    expect(accepted(...start, end).stream).toMatchObject({ crashCount, isUnsettled: true });
  });

  test('make what is recorded of pending tasks suspect, until a person has answered about it or its task counts', () => {
    const tasks = opened({}, { tasks: [declared('a'), declared('b')] });
    const other = { task: '0.1', key: 'w:0.1:pay:0' };
    const both = [tasks, claimed(), intended(2), resolved(3), intended(4, other), resolved(5, other), revoked()];
    const suspects = (...history: readonly Envelope[]) =>
      [...accepted(...history).stream.frontier.tasks].flatMap(({ effects }) => effects.map((one) => one.isSuspect));
    expect(suspects(...both.slice(0, -1))).toEqual([false, false]);
    expect(suspects(...both)).toEqual([true, true]);
    expect(suspects(...both, claimed(2), committed(2, {}, 2))).toEqual([true]);
    for (const answer of [done, { resolution: 'retry' }] as const) {
      expect(suspects(...both, claimed(2), asked(2, {}, 2), decided(answer))).toEqual([false, true]);
    }
  });

  test('mark a call that was begun, unless the holder is gone; until its outcome is known or a person has answered', () => {
    const silentAfter = (...history: readonly Envelope[]) =>
      accepted(...start, intended(2), ...history).task.effects[0]?.silentHolders;
    const gone = inboxEvent('LeaseRevoked', { isGone: true });
    expect([silentAfter(), silentAfter(revoked()), silentAfter(gone)]).toEqual([undefined, ['h1'], undefined]);
    // A revocation that doesn't say.
    expect(silentAfter(inboxEvent('LeaseRevoked', {}))).toEqual(['h1']);
    const again = [revoked(), claimed(2), intended(2, {}, 2)];
    expect(silentAfter(...again)).toEqual(['h1']);
    expect(silentAfter(...again, resolved(3, {}, 2))).toBeUndefined();
    for (const answer of [done, { resolution: 'retry' }, { resolution: 'not-done', responseDigest: null }] as const) {
      expect(silentAfter(revoked(), claimed(2), asked(2, {}, 2), decided(answer))).toBeUndefined();
    }
  });

  test('mark it for every holder that fell silent within it, the oldest first; of later ones, that there are some', () => {
    const silent = (epoch: number) => [
      holderEvent('LeaseClaimed', { epoch, holder: `h${epoch}`, ordinal: 1 }),
      inboxEvent('LeaseRevoked', { epoch, holder: `h${epoch}` }),
    ];
    const heirs = (count: number) => Array.from({ length: count }, (_, at) => silent(at + 2)).flat();
    const [one, all, more] = [1, SILENT_HOLDERS_MAX - 1, SILENT_HOLDERS_MAX].map(
      (count) => accepted(...start, intended(2), revoked(), ...heirs(count)).task.effects[0]!,
    );
    // The heir never called: yet it might have.
    expect(one!.silentHolders).toEqual(['h1', 'h2']);
    expect(all).toMatchObject({ silentHolders: more!.silentHolders });
    expect([all!.hasMoreSilent, more!.hasMoreSilent, more!.silentHolders?.[0]]).toEqual([undefined, true, 'h1']);
  });

  test('leave what is only confirmed afterwards as it is', () => {
    const history = [...start, intended(2), pending(3), revoked(), confirmed({ outcome: 'done' })];
    expect(accepted(...history).task.effects).toMatchObject([{ status: 'done', isSuspect: false }]);
  });

  test('so does a run that ends by an error of its own, and an orderly release does not', () => {
    const released = (reason: 'fault' | 'drain') =>
      holderEvent('LeaseReleased', { epoch: 1, holder: 'h1', ordinal: 2 }, { reason });
    expect(accepted(...start, released('fault')).stream.crashCount).toBe(1);
    expect(accepted(...start, released('drain')).stream.crashCount).toBe(0);
  });

  test('count no more after a checkpoint, nor after a person said to go on', () => {
    const clear = { crashCount: 0, crashTimesMs: [] };
    expect(accepted(opened(), ...deaths(2), claimed(3), committed(2, {}, 3)).stream).toMatchObject(clear);
    const parked = [opened(), ...deaths(2), claimed(3), asked(2, { task: null, key: null }, 3)];
    expect(accepted(...parked).stream.crashCount).toBe(2);
    expect(accepted(...parked, decided()).stream).toMatchObject(clear);
    expect(accepted(...parked, decided({ resolution: 'fail' })).stream.crashCount).toBe(2);
  });
});

describe('failures and budgets', () => {
  test('failures in a row of the same code are counted apart', () => {
    const codes = ['boom', 'bang', 'bang'].map((code, index) => failed(index + 2, { code }));
    expect(accepted(...start, ...codes).task).toMatchObject({
      failureCount: 3,
      failureCode: 'bang',
      sameFailureCount: 2,
    });
  });

  test('a fault that passes counts apart, until a call is done or fails otherwise', () => {
    const outage = { of: 'pay', why: '503', sinceMs: 5, count: 1 };
    const away = failed(3, { code: 'away', retry: timer('r'), outage });
    const history = [...start, failed(2, { code: 'boom' }), away];
    const boomed = { failureCount: 2, failureCode: 'boom', sameFailureCount: 1, passingCount: 1 };
    expect(accepted(...history).task).toMatchObject({ ...boomed, outage });
    const again = accepted(...history, failed(4, { code: 'boom' })).task;
    expect(again).toMatchObject({ failureCount: 3, sameFailureCount: 2, passingCount: 1 });
    expect(again.outage).toBeUndefined();
    expect(accepted(...history, intended(4), resolved(5)).task.outage).toBeUndefined();
    expect(accepted(...history, intended(4), pending(5), confirmed()).task.outage).toBeUndefined();
    expect(accepted(...history, intended(4), resolved(5, { outcome: 'failed' })).task).toMatchObject({ outage });
  });

  test('after a person’s answer failures count afresh, and steps from the newest checkpoint', () => {
    const loop = [
      ...start,
      committed(2, { tasks: [declared('again')] }),
      failed(3, { task: '0.1', retry: timer('r') }),
    ];
    const history = [...loop, asked(4, { code: 'step-budget', task: '0.1', key: null })];
    expect(accepted(...history).stream.budgetFrom).toBe(0);
    const { stream, task } = accepted(...history, decided());
    expect(stream.budgetFrom).toBe(1);
    expect(task).toMatchObject({ failureCount: 0, failureCode: null, sameFailureCount: 0, retry: null });
  });
});

describe('versions', () => {
  test('a checkpoint raises the workflow’s version, and none lowers it', () => {
    const raised = [...start, committed(2, { stepVersion: 3 })];
    expect(accepted(...raised).stream.version).toBe(3);
    refused('stale-version', ...raised, committed(3, { checkpoint: 'c2', sequence: 2, parent: 'c1', task: '0.1' }));
  });

  test('pinned, it takes its own version alone; let go, newer ones', () => {
    const pinned = [...start, inboxEvent('VersionPinned')];
    refused('stale-version', ...pinned, committed(2, { stepVersion: 2 }));
    accepted(...pinned, committed(2));
    accepted(...pinned, inboxEvent('VersionPinned', { pinned: false }), committed(2, { stepVersion: 2 }));
  });

  test('a checkpoint corrects an earlier one of its chain, never itself or a later one', () => {
    const second = { checkpoint: 'c2', sequence: 2, parent: 'c1', task: '0.1' };
    accepted(...start, committed(2), committed(3, { ...second, supersedes: 1 }));
    refused('wrong-parent', ...start, committed(2), committed(3, { ...second, supersedes: 2 }));
    refused('wrong-parent', ...start, committed(2, { supersedes: 1 }));
  });
});

test('what calls that failed may have cost is added up while their key is called again', () => {
  const spent = { tokens: 3, costMicros: 5 };
  const failedCall = (ordinal: number) => [intended(ordinal), resolved(ordinal + 1, { outcome: 'failed', spent })];
  const [effect] = accepted(...start, ...failedCall(2), ...failedCall(4), intended(6)).task.effects;
  expect(effect?.wasted).toEqual({ tokens: 6, costMicros: 10 });
});

test('what a call may have cost whose caller was lost is kept apart, in the account of its key and of its workflow', () => {
  const model = { bundle: null, reserved: { tokens: 40, costMicros: 7 } };
  const spent = { tokens: 3, costMicros: 0, estimatedTokens: 3, unpricedTokens: 3 };
  const called = [...start, intended(2, { model }), intended(3, { model })];
  const unknown = { unknownCalls: 1, unknownTokens: 40, unknownCostMicros: 7 };
  expect(accepted(...called).task.effects[0]?.wasted).toEqual({ tokens: 0, costMicros: 0, ...unknown });
  const { stream } = accepted(...called, resolved(4, { outcome: 'done', spent }));
  expect(spentBy(stream)).toEqual({ ...spent, ...unknown });
  // What is still under way may be paid for as well.
  expect(spentBy(accepted(...called).stream)).toEqual({
    ...{ tokens: 0, costMicros: 0, unknownCalls: 2, unknownTokens: 80, unknownCostMicros: 14 },
  });
});

test('what a budget is raised by is added up', () => {
  const by = { tokens: 1_000, costMicros: 7 };
  const { raised } = accepted(...start, inboxEvent('BudgetRaised', by), inboxEvent('BudgetRaised', by)).stream;
  expect(raised).toEqual({ tokens: 2_000, costMicros: 14 });
});

test('an outcome that comes once the workflow is being compensated is refused: it would not be compensated', () => {
  const history = [...start, intended(2), pending(3), compensationStarted(4, { key: KEY })];
  refused('not-asked', ...history, confirmed());
});

describe('a forged token', () => {
  const before = [...start, intended(2), revoked(), claimed(2)];
  const compensationForKey = (ordinal: number, _: object, epoch: number) =>
    compensationStarted(ordinal, { key: KEY }, epoch);
  const events = { EffectPending: pending, CompensationStarted: compensationForKey, WorkflowParked: asked };

  test.each(Object.entries(events))('%s', (_, event) => {
    const right = event(2, {}, 2) as Envelope;
    accepted(...before, right);
    const forged = (fields: object) => ({ ...right, ...fields }) as Envelope;
    refused('wrong-holder', ...before, forged({ holder: 'thief' }));
    refused('wrong-holder', ...before, forged({ epoch: 3, holder: 'h3' }));
    refused('stale-epoch', ...before, forged({ epoch: 1, holder: 'h1', ordinal: 3 }));
    refused('stale-epoch', ...before, forged({ epoch: 1 }));
    refused('duplicate', ...before, forged({ ordinal: 1 }));
    refused('ordinal-gap', ...before, forged({ ordinal: 3 }));
    refused('lamport-regression', ...before, forged({ lamport: 1 }));
    refused('wrong-generation', ...before, forged({ generation: 2 }));
    refused('stale-epoch', ...before, revoked(2), right);
  });
});
