/** Which record each use of an attempt claims, in whatever order the uses arrive (U1, U2). */

import type { EffectKey, EffectKind, EffectState, Sha256 } from '@tidemark/core';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { describe, expect, it } from 'vitest';
import { EffectUses, RECORD_CLAIM_PERIODS, type Use } from './effect-uses.ts';
import { RECORD_CLAIM_PERIOD_MS } from './limits.ts';

const keyOf = (operation: string, end: string | number): EffectKey => `w:0.0:${operation}:${end}` as EffectKey;
const recorded = (
  end: string | number,
  asks: string,
  kind: EffectKind = 'idempotent',
  operation = 'pay',
): EffectState => ({ key: keyOf(operation, end), operation, kind, requestDigest: asks, status: 'done' }) as EffectState;
const asking = (asks: string, name?: string, operation = 'pay'): Use => ({
  operation,
  name,
  requestDigest: asks as Sha256,
});
/** The first ones are made in one place each, in the order of the code. */
const placeOf = (key: EffectKey): string => `at ${key.slice(-1)}`.padEnd(12, '.') + (key.endsWith('9') ? '' : '!');
const QUIET_MS = RECORD_CLAIM_PERIODS * RECORD_CLAIM_PERIOD_MS;
const never = new AbortController().signal;
const usesOf = (effects: readonly EffectState[], clock = new SimulatedClock(), signal = never): EffectUses =>
  new EffectUses(keyOf, {
    ...{ recorded: effects, outcomes: [], clock, signal },
    breath: { begin: () => {}, ended: async () => {} },
    recordedCalls: async () => new Map(effects.map(({ key }) => [key, { request: null, place: placeOf(key) }])),
  });

describe('a use without a name', () => {
  it('claims the record that asks the same, in whatever order they arrive; equal ones by their order', () => {
    const uses = usesOf([recorded(10, 'x'), recorded(2, 'x'), recorded(0, 'a'), recorded(1, 'b')]);
    expect(['b', 'x', 'a', 'x'].map((asks) => uses.claim(asking(asks)))).toEqual(
      [1, 2, 0, 10].map((ordinal) => keyOf('pay', ordinal)),
    );
    expect(['c', 'a'].map((asks) => uses.claim(asking(asks)))).toEqual([3, 4].map((one) => keyOf('pay', one)));
  });

  it('has no key while something that was called is not asked for again; what is pure does not count', () => {
    const uses = usesOf([recorded(0, 'a'), recorded(0, 'a', 'pure', 'look')]);
    expect(uses.claim(asking('b'))).toBeUndefined();
    expect(uses.claim(asking('b', undefined, 'look'))).toBe(keyOf('look', 1));
    expect(uses.claim(asking('a'))).toBe(keyOf('pay', 0));
    expect(uses.claim(asking('b'))).toBe(keyOf('pay', 1));
  });

  it('waits for it, as long as other calls begin, run or end', async () => {
    const clock = new SimulatedClock();
    const uses = usesOf([recorded(0, 'a'), recorded(1, 'b')], clock);
    const late = uses.claimed(asking('c'));
    await clock.run(QUIET_MS - 1);
    const { promise, resolve } = Promise.withResolvers<null>();
    const calling = uses.calling({ key: uses.claim(asking('a'))!, answer: () => promise });
    await clock.run(10 * QUIET_MS);
    resolve(null);
    await calling;
    await clock.run(QUIET_MS - 1);
    expect(uses.claim(asking('b'))).toBe(keyOf('pay', 1));
    expect(await late).toBe(keyOf('pay', 2));
  });

  it('comes in its place when nothing does: it is a changed request', async () => {
    const clock = new SimulatedClock();
    const uses = usesOf([recorded(0, 'a'), recorded(1, 'b')], clock);
    expect(uses.claim(asking('a'))).toBe(keyOf('pay', 0));
    const changed = uses.claimed(asking('c'));
    await clock.run(QUIET_MS);
    expect(await changed).toBe(keyOf('pay', 1));
  });

  it('whose request has changed stands at once in the one record of its place, and in no other', async () => {
    const clock = new SimulatedClock();
    const at = (asks: string, key: EffectKey) => ({ ...asking(asks), place: placeOf(key) });
    const one = usesOf([recorded(0, 'a'), recorded(1, 'b')], clock);
    expect(await one.claimed(at('c', keyOf('pay', 1)))).toBe(keyOf('pay', 1));
    expect(one.isToldApart(keyOf('pay', 1), 'c' as Sha256)).toBe(true);
    expect(one.isToldApart(keyOf('pay', 1), 'd' as Sha256)).toBe(false);
    const two = usesOf([recorded(0, 'a'), recorded(1, 'b')], clock);
    const both = [0, 1].map((end) => two.claimed(at(`c${end}`, keyOf('pay', end))));
    await clock.run(QUIET_MS);
    await Promise.all(both);
    expect([0, 1].some((end) => two.isToldApart(keyOf('pay', end), `c${end}` as Sha256))).toBe(false);
  });

  it('is not made once its step has ended, or its attempt is over', async () => {
    const clock = new SimulatedClock();
    const over = new AbortController();
    const aborted = usesOf([recorded(0, 'a')], clock, over.signal).claimed(asking('c'));
    const uses = usesOf([recorded(0, 'a')], clock);
    const left = uses.claimed(asking('c'));
    over.abort(new Error('over'));
    await expect(aborted).rejects.toThrow('over');
    await uses.close();
    await expect(left).rejects.toMatchObject({ code: 'step-ended' });
  });
});

describe('a use with a name', () => {
  it('has the key of its name, whatever else is recorded, and never that of an ordinal', () => {
    const uses = usesOf([recorded(0, 'a'), recorded('n', 'a')]);
    expect(uses.claim(asking('z', 'other'))).toBe(keyOf('pay', 'other'));
    expect(uses.claim(asking('z', 'n'))).toBe(keyOf('pay', 'n'));
    expect(uses.claim(asking('z', '0'))).toBe(keyOf('pay', '=0'));
    expect(uses.claim(asking('z', '=0'))).toBe(keyOf('pay', '==0'));
    expect(uses.claim(asking('a'))).toBe(keyOf('pay', 0));
  });

  it.each([
    ['got its name since it was recorded', 0, 'n'],
    ['lost it since', 'n', undefined],
  ])('is that call when nothing else asks the same: it %s', async (_, end, name) => {
    const clock = new SimulatedClock();
    const uses = usesOf([recorded(end, 'a')], clock);
    expect(uses.claim(asking('a', name))).toBeUndefined();
    const renamed = uses.claimed(asking('a', name));
    await clock.run(QUIET_MS);
    expect(await renamed).toBe(keyOf('pay', end));
  });

  it('is refused when it makes the key of another operation', () => {
    const uses = usesOf([recorded('b:0', 'a', 'pure', 'run.a')]);
    expect(() => uses.claim(asking('a', undefined, 'run.a:b'))).not.toThrow();
    expect(uses.claim(asking('a', undefined, 'run.a:b'))).toBe(keyOf('run.a:b', 2));
    expect(() => uses.claim(asking('x', '1', 'run.a:b'))).not.toThrow();
    expect(() => uses.claim(asking('x', 'b:1', 'run.a'))).toThrow('another operation');
  });
});
