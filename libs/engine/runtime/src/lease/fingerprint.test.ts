import type { StreamState } from '@tidemark/core';
import { describe, expect, test } from 'vitest';
import type { Draft } from './draft.ts';
import { fingerprinted, messageForm } from './fingerprint.ts';

describe('the form of a message', () => {
  test.each([
    ["Charge 8821 of 'ana' failed at 2026-03-01T10:00:00Z", "Charge 17 of 'ben lee' failed at 2025-12-24T18:00:00Z"],
    ['connect to 10.0.0.7:5432 after 30s', 'connect to 10.0.0.12:5433 after 5s'],
    ['order 018f6a2e-77aa-7000-8000-0123456789ab is gone', 'order 018f6a2e-77aa-7000-8000-ba9876543210 is gone'],
    ['commit deadbeef not found', 'commit cafebabe not found'],
    ['no row "a" in table', 'no row "b c" in table'],
    ['took 3.5 s,  then  failed', 'took 4 s, then failed'],
    ['item ord_12ab: locked', 'item ord_99zz: locked'],
  ])('%s is that of %s', (a, b) => expect(messageForm(a)).toBe(messageForm(b)));

  test.each([
    ['answered HTTP 503', 'answered HTTP 404'],
    ['the depot is closed', 'the depot is full'],
    ['status: 500', 'status: 502'],
  ])('%s is not that of %s', (a, b) => expect(messageForm(a)).not.toBe(messageForm(b)));

  test('is made in no time, whatever the message is', () => {
    for (const text of ["'".repeat(100_000), 'a'.repeat(100_000), '1'.repeat(100_000), '" '.repeat(50_000)]) {
      const beganMs = performance.now();
      messageForm(text);
      expect(performance.now() - beganMs).toBeLessThan(1_000);
    }
  });
});

describe('what is stamped', () => {
  const state = { definition: 'refund', ruling: null, frontier: { tasks: new Map([['1.0', { step: 'charge' }]]) } };
  const failed = (message: string, code = 'boom', task: string | null = '1.0') =>
    ({ type: 'StepFailed', control: { task, code }, payload: { error: { message } } }) as unknown as Draft;
  const of = (draft: Draft, isSealing = false): unknown =>
    (fingerprinted([draft], state as unknown as StreamState, isSealing)[0]!.control as { fingerprint?: string })
      .fingerprint;

  test('equal failures have one fingerprint; another step, code or message has another', () => {
    expect(of(failed('order 1 is gone'))).toMatch(/^[0-9a-f]{12}$/);
    expect(of(failed('order 1 is gone'))).toBe(of(failed('order 2 is gone')));
    const all = [failed('gone'), failed('full'), failed('gone', 'bang'), failed('gone', 'boom', null)].map((one) =>
      of(one),
    );
    expect(new Set(all).size).toBe(4);
  });

  test('a header is never encrypted: nothing of a sealed message is in it', () => {
    expect(of(failed('Bob Smith is unknown'), true)).toBe(of(failed('Ann Lee has no account'), true));
    expect(of(failed('x'), true)).not.toBe(of(failed('x', 'bang'), true));
  });

  test('what follows from a failure is the same failure', () => {
    const parked = { type: 'WorkflowParked', control: { code: 'step-failed' }, payload: { error: { message: 'm' } } };
    const drafts = fingerprinted([failed('gone'), parked as never], state as unknown as StreamState, false);
    expect(drafts.map(({ control }) => 'fingerprint' in control)).toEqual([true, false]);
    expect(fingerprinted([], state as unknown as StreamState, false)).toEqual([]);
    const cancelled = { ...state, ruling: 'cancel' } as unknown as StreamState;
    expect(fingerprinted([failed('gone')], cancelled, false)[0]!.control).not.toHaveProperty('fingerprint');
  });
});
