import { describe, expect, test } from 'vitest';
import {
  crashRestMs,
  crashVerdict,
  DEFAULT_RECOVERY,
  type FoundEffect,
  type RecoveryAction,
  recoveryAction,
} from './recovery.ts';

type Row = readonly [FoundEffect['status'], FoundEffect['kind'], FoundEffect['answer'], RecoveryAction, RecoveryAction];

/** Status, kind, the answer of the probe; the action without and with a registered compensation. */
const TABLE: readonly Row[] = [
  ['done', 'pure', 'none', 'go-on', 'go-on'],
  ['done', 'pure', 'done', 'go-on', 'go-on'],
  ['done', 'pure', 'not-done', 'go-on', 'go-on'],
  ['done', 'pure', 'unknown', 'go-on', 'go-on'],
  ['done', 'idempotent', 'none', 'go-on', 'go-on'],
  ['done', 'idempotent', 'done', 'go-on', 'go-on'],
  ['done', 'idempotent', 'not-done', 'ask-person', 'compensate'],
  ['done', 'idempotent', 'unknown', 'ask-person', 'compensate'],
  ['done', 'irreversible', 'none', 'ask-person', 'compensate'],
  ['done', 'irreversible', 'done', 'go-on', 'go-on'],
  ['done', 'irreversible', 'not-done', 'ask-person', 'compensate'],
  ['done', 'irreversible', 'unknown', 'ask-person', 'compensate'],
  ['intended', 'pure', 'none', 'call-again', 'call-again'],
  ['intended', 'pure', 'done', 'record-done', 'record-done'],
  ['intended', 'pure', 'not-done', 'call-again', 'call-again'],
  ['intended', 'pure', 'unknown', 'call-again', 'call-again'],
  ['intended', 'idempotent', 'none', 'call-again', 'call-again'],
  ['intended', 'idempotent', 'done', 'record-done', 'record-done'],
  ['intended', 'idempotent', 'not-done', 'call-again', 'call-again'],
  ['intended', 'idempotent', 'unknown', 'call-again', 'call-again'],
  ['intended', 'irreversible', 'none', 'ask-person', 'compensate'],
  ['intended', 'irreversible', 'done', 'record-done', 'record-done'],
  ['intended', 'irreversible', 'not-done', 'call-again', 'call-again'],
  ['intended', 'irreversible', 'unknown', 'ask-person', 'compensate'],
  ...(['pure', 'idempotent', 'irreversible'] as const).flatMap((kind): Row[] => [
    ['pending', kind, 'done', 'record-done', 'record-done'],
    ['pending', kind, 'not-done', 'await-confirmation', 'await-confirmation'],
    ['pending', kind, 'unknown', 'await-confirmation', 'await-confirmation'],
    ['pending', kind, 'none', 'await-confirmation', 'await-confirmation'],
    ['failed', kind, 'done', 'call-again', 'call-again'],
    ['failed', kind, 'not-done', 'call-again', 'call-again'],
    ['failed', kind, 'unknown', 'call-again', 'call-again'],
    ['failed', kind, 'none', 'call-again', 'call-again'],
  ]),
];

describe('the recovery table', () => {
  test.each(TABLE)('%s, %s, probe says %s: %s, or with a compensation %s', (status, kind, answer, without, withOne) => {
    const found = { status, kind, answer, mayStillCall: false };
    expect(recoveryAction({ ...found, mayCompensate: false })).toBe(without);
    expect(recoveryAction({ ...found, mayCompensate: true })).toBe(withOne);
  });

  test('asks a person about an irreversible call that a silent holder may still make, and is the same otherwise', () => {
    const cases = TABLE.flatMap(([status, kind, answer]) =>
      [false, true].map((mayCompensate) => ({ status, kind, answer, mayCompensate })),
    );
    for (const found of cases) {
      const isHeld = found.status === 'intended' && found.kind === 'irreversible' && found.answer !== 'done';
      const known = recoveryAction({ ...found, mayStillCall: false });
      expect(recoveryAction({ ...found, mayStillCall: true })).toBe(isHeld ? 'ask-person' : known);
    }
  });

  test('has a row for every case', () => {
    expect(new Set(TABLE.map(([status, kind, answer]) => `${status} ${kind} ${answer}`)).size).toBe(4 * 3 * 4);
  });
});

describe('crashes', () => {
  const at = (...minutes: readonly number[]) => ({
    crashCount: minutes.length,
    crashTimesMs: minutes.map((minute) => minute * 60_000),
  });

  test('the fourth within an hour asks a person, the third does not (D5)', () => {
    expect(crashVerdict(at())).toBeNull();
    expect(crashVerdict(at(0, 10, 20))).toBeNull();
    expect(crashVerdict(at(0, 10, 20, 30))).toBe('recovery-limit');
  });

  test('four over more than an hour do not', () => {
    expect(crashVerdict(at(0, 30, 60, DEFAULT_RECOVERY.windowMs / 60_000 + 1))).toBeNull();
  });

  test.each([
    [at(10), 0, 10, 0],
    [at(10), 60_000, 10, 60_000],
    [at(10), 60_000, 10.5, 30_000],
    [at(9, 10), 60_000, 10, 120_000],
    [at(10), 60_000, 12, 0],
    // The clock of who saw it is ahead.
    [at(10), 60_000, 0, 60_000],
    [at(...Array.from({ length: 40 }, () => 10)), 60_000, 10, 3_600_000],
    [at(), 60_000, 10, 0],
  ])(
    'after crashes %o a rest of %i ms from the first lasts, at minute %i, %i ms more',
    (crashes, delayMs, minute, restMs) => {
      expect(crashRestMs(crashes, { ...DEFAULT_RECOVERY, delayMs }, minute * 60_000)).toBe(restMs);
    },
  );

  test('many, however far apart, make the task poison', () => {
    const times = Array.from({ length: 2 * DEFAULT_RECOVERY.attempts }, (_, index) => index * 120);
    expect(crashVerdict(at(...times.slice(1)))).toBeNull();
    expect(crashVerdict(at(...times))).toBe('poison-task');
  });
});
