/**
 * Owns the contract of CallLimiter as tests; every adapter runs it, on a clock that the test moves. `calledBy` is one simulated fleet of
 * waiters, by which the tests judge what a receiver sees.
 */

import { type TenantId, tenantId } from '@tidemark/core';
import type { AskedTurn, CallEnd, CallLimiter, CallScope, CallTurn } from '@tidemark/ports';
import { CALL_RULES } from '@tidemark/ports/call-rules';
import { callScopes } from '@tidemark/runtime';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Scheduler } from '../simulation/scheduler.ts';

export interface OpenedCallLimiter {
  readonly limiter: CallLimiter;
  readonly close: () => Promise<void>;
}

const [ana, bob] = [tenantId('ana'), tenantId('bob')];
const ANSWERED: CallEnd = { kind: 'answered', tookMs: 100 };
const FAULT: Extract<CallEnd, { readonly kind: 'fault' }> = { kind: 'fault', why: '503', isLimited: false };
const WAIT_MAX_MS = 3_000;

export const askedBy = (who: string, scopes: readonly CallScope[], more: Partial<AskedTurn> = {}): AskedTurn => ({
  ...{ who, tenant: ana, scopes, tokens: 0, timeoutMs: 30_000, waitMaxMs: 0 },
  ...more,
});

interface Called {
  readonly who: string;
  readonly atMs: number;
}

/** A receiver, those that want one call of it each, and what it saw of them. */
class Fleet {
  readonly seen: Called[] = [];
  askCount = 0;
  readonly #limiter: CallLimiter;
  readonly #time: Scheduler;
  readonly #scopes: readonly CallScope[];
  readonly #answer: (atMs: number) => CallEnd;
  #pendingCount = 0;
  readonly #underWay = new Set<Promise<void>>();

  constructor(limiter: CallLimiter, time: Scheduler, scopes: readonly CallScope[], answer: (atMs: number) => CallEnd) {
    this.#limiter = limiter;
    this.#time = time;
    this.#scopes = scopes;
    this.#answer = answer;
  }

  come(who: string, tenant: TenantId, inMs: number): void {
    this.#pendingCount++;
    this.#time.after(inMs, () => this.#begin(this.#asks(who, tenant)));
  }

  #begin(work: Promise<void>): void {
    const done = work.finally(() => this.#underWay.delete(done));
    this.#underWay.add(done);
  }

  async #asks(who: string, tenant: TenantId): Promise<void> {
    this.askCount++;
    const asked = askedBy(who, this.#scopes, { tenant, waitMaxMs: WAIT_MAX_MS });
    const turn = await this.#limiter.ask(asked);
    this.#pendingCount--;
    if (turn.kind === 'wait') return this.come(who, tenant, turn.waitMs);
    this.#pendingCount++;
    this.#time.after(turn.inMs, () => this.#begin(this.#calls(asked, turn.call)));
  }

  async #calls(asked: AskedTurn, call: string): Promise<void> {
    this.seen.push({ who: asked.who, atMs: this.#time.nowMs });
    const end = this.#answer(this.#time.nowMs);
    await this.#limiter.end(asked, call, end);
    this.#pendingCount--;
    if (end.kind !== 'answered') this.come(asked.who, asked.tenant, 200);
  }

  /** Lets everybody come until all have been answered. */
  async run(maxMs: number): Promise<void> {
    while (this.#pendingCount > 0) {
      expect(this.#time.nowMs).toBeLessThan(maxMs);
      if (this.#underWay.size === 0) this.#time.jump(Math.max(0, this.#time.nextAtMs - this.#time.nowMs));
      await Promise.all(this.#underWay);
    }
  }

  /** The most that it saw within any such time. */
  mostIn(windowMs: number, fromMs = 0): number {
    const times = this.seen.map(({ atMs }) => atMs).filter((atMs) => atMs >= fromMs);
    return Math.max(...times.map((atMs, at) => times.filter((other, i) => i >= at && other < atMs + windowMs).length));
  }
}

export function callLimiterContract(name: string, open: (nowMs: () => number) => Promise<OpenedCallLimiter>): void {
  describe(`call limiter contract: ${name}`, () => {
    let opened: OpenedCallLimiter;
    let time: Scheduler;
    const ask = (who: string, scopes: readonly CallScope[], more?: Partial<AskedTurn>): Promise<CallTurn> =>
      opened.limiter.ask(askedBy(who, scopes, more));
    const pass = async (who: string, scopes: readonly CallScope[], more?: Partial<AskedTurn>): Promise<string> => {
      const turn = await ask(who, scopes, more);
      expect(turn).toMatchObject({ kind: 'pass' });
      return turn.kind === 'pass' ? turn.call : '';
    };
    const end = (who: string, scopes: readonly CallScope[], call: string, how: CallEnd, more?: Partial<AskedTurn>) =>
      opened.limiter.end(askedBy(who, scopes, more), call, how);
    const failing = async (
      scopes: readonly CallScope[],
      count = CALL_RULES.faultsInRow,
      how: CallEnd = FAULT,
    ): Promise<void> => {
      for (let at = 0; at < count; at++) await end(`f${at}`, scopes, await pass(`f${at}`, scopes), how);
    };
    beforeEach(async () => {
      time = new Scheduler();
      opened = await open(() => time.nowMs);
    });
    afterEach(() => opened.close());

    test('calls of a scope without limits pass, also beside one that fails now and then', async () => {
      const scopes = [{ key: 'free' }];
      for (let at = 0; at < 40; at++)
        await end(`w${at}`, scopes, await pass(`w${at}`, scopes), at % 3 === 0 ? ANSWERED : FAULT);
    });

    test('a rate is kept, spread over its period, by who comes in turn', async () => {
      const fleet = new Fleet(
        opened.limiter,
        time,
        [{ key: 'r', rate: { count: 100, perMs: 10_000 } }],
        () => ANSWERED,
      );
      for (let at = 0; at < 60; at++) fleet.come(`w${at}`, ana, at);
      await fleet.run(20_000);
      expect(fleet.seen.map(({ who }) => who)).toEqual(Array.from({ length: 60 }, (_, at) => `w${at}`));
      expect([fleet.mostIn(10_000), fleet.mostIn(1_000)]).toEqual([60, 14]);
      // Nobody came twice for nothing: each was told its own moment.
      expect(fleet.askCount).toBeLessThanOrEqual(60 * 2);
    });

    test('those that come late, and together, are spread again', async () => {
      const scopes = [{ key: 'late', rate: { count: 10, perMs: 10_000 } }];
      for (let at = 0; at < 8; at++) await ask(`w${at}`, scopes);
      time.jump(60_000);
      const fleet = new Fleet(opened.limiter, time, scopes, () => ANSWERED);
      for (let at = 0; at < 8; at++) fleet.come(`w${at}`, ana, 0);
      await fleet.run(80_000);
      expect(fleet.mostIn(5_000)).toBe(5);
    });

    test('a place is kept, and told again', async () => {
      const scopes = [{ key: 'kept', rate: { count: 10, perMs: 10_000 } }];
      await pass('a', scopes);
      expect(await ask('b', scopes)).toMatchObject({ kind: 'wait', waitMs: 1_000 });
      expect(await ask('c', scopes)).toMatchObject({ kind: 'wait', waitMs: 2_000 });
      time.jump(500);
      expect(await ask('b', scopes)).toMatchObject({ kind: 'wait', waitMs: 500 });
      expect(await ask('c', scopes, { waitMaxMs: 10_000 })).toMatchObject({ kind: 'wait', waitMs: 1_500 });
      time.jump(500);
      // Who has no place comes after those who have one.
      expect(await ask('d', scopes)).toMatchObject({ kind: 'wait', waitMs: 2_000 });
      await pass('b', scopes);
    });

    test('tenants take turns: a few calls do not wait behind the backlog of another', async () => {
      const fleet = new Fleet(opened.limiter, time, [{ key: 't', rate: { count: 10, perMs: 1_000 } }], () => ANSWERED);
      for (let at = 0; at < 200; at++) fleet.come(`a${at}`, ana, 0);
      for (let at = 0; at < 10; at++) fleet.come(`b${at}`, bob, 1);
      await fleet.run(60_000);
      const lastOf = (of: string) => fleet.seen.findLastIndex(({ who }) => who.startsWith(of));
      expect(fleet.seen).toHaveLength(210);
      expect(lastOf('b')).toBeLessThan(40);
      expect(fleet.mostIn(1_000)).toBeLessThanOrEqual(11);
    });

    test('faults in a row open the circuit, one trial at a time is let through, and its answer closes it', async () => {
      const scopes = [{ key: 'c' }];
      await failing(scopes);
      expect(await ask('x', scopes)).toMatchObject({ kind: 'wait', why: '503', faultMs: CALL_RULES.openFirstMs });
      time.jump(CALL_RULES.openFirstMs);
      const trial = await pass('x', scopes);
      expect(await ask('y', scopes)).toMatchObject({ kind: 'wait', why: '503' });
      await end('x', scopes, trial, FAULT);
      expect(await ask('y', scopes)).toMatchObject({ kind: 'wait', faultMs: 2 * CALL_RULES.openFirstMs });
      time.jump(2 * CALL_RULES.openFirstMs);
      await end('y', scopes, await pass('y', scopes), ANSWERED);
      expect(await ask('x', scopes)).toMatchObject({ kind: 'wait', faultMs: 0 });
      time.jump(CALL_RULES.openFirstMs);
      await pass('x', scopes);
    });

    test('a trial that nobody reports the end of is followed by another', async () => {
      const scopes = [{ key: 'lost' }];
      await failing(scopes);
      time.jump(CALL_RULES.openFirstMs);
      await pass('x', scopes);
      time.jump(60_000);
      await pass('y', scopes);
    });

    test('a trial that was not made after all leaves the circuit to the next', async () => {
      const scopes = [{ key: 'unmade' }];
      await failing(scopes);
      time.jump(CALL_RULES.openFirstMs);
      await end('x', scopes, await pass('x', scopes), { kind: 'unmade' });
      await pass('y', scopes);
    });

    test('a wait that a receiver asks for opens the narrowest scope alone, and for no longer than others may try', async () => {
      const [wide, narrow] = [{ key: 'wide' }, { key: 'narrow', isAsked: true }];
      const how: CallEnd = { ...FAULT, why: '429', askedMs: 60_000 };
      await failing([wide, narrow], 1, how);
      expect(await ask('x', [wide, narrow])).toMatchObject({ kind: 'wait', why: '429', faultMs: 60_000 });
      await pass('y', [wide]);
      await failing([{ key: 'year', isAsked: true }], 1, { ...how, askedMs: 366 * 86_400_000 });
      expect(await ask('x', [{ key: 'year' }])).toMatchObject({ faultMs: CALL_RULES.askedMaxMs });
    });

    test.each([
      ['a declared limit', { count: 50, perMs: 1_000 }, 55],
      ['what is learned, where none is declared', undefined, 100],
    ])('after an outage those that waited come back at %s, and none is lost', async (_, rate, mostCount) => {
      const downMs = 60_000;
      const fleet = new Fleet(opened.limiter, time, [{ key: 'out', rate, isAsked: true }], (atMs) =>
        atMs < downMs ? FAULT : ANSWERED,
      );
      for (let at = 0; at < 300; at++) fleet.come(`w${at}`, at % 2 === 0 ? ana : bob, at);
      await fleet.run(300_000);
      const answered = fleet.seen.filter(({ atMs }) => atMs >= downMs);
      expect(new Set(answered.map(({ who }) => who)).size).toBe(300);
      expect(fleet.seen.length - answered.length).toBeLessThan(40);
      expect(fleet.mostIn(1_000, downMs)).toBeLessThanOrEqual(mostCount);
      // The first is let through alone.
      expect(answered[1]!.atMs - answered[0]!.atMs).toBeGreaterThan(0);
    });

    test('so many calls at once, and the next when one has ended or is lost', async () => {
      const scopes = [{ key: 'slots', concurrency: 2 }];
      const first = await pass('a', scopes);
      await pass('b', scopes);
      expect(await ask('c', scopes)).toMatchObject({ kind: 'wait' });
      await end('a', scopes, first, ANSWERED);
      await pass('c', scopes);
      expect(await ask('d', scopes)).toMatchObject({ kind: 'wait' });
      time.jump(60_000);
      await pass('d', scopes);
    });

    test('limits that name one key are kept together', async () => {
      const scopes = callScopes(
        ['effect e'],
        [
          { key: 'openai', rate: { count: 10, per: '10s' } },
          { key: 'openai', concurrency: 5 },
        ],
      );
      await pass('a', scopes);
      expect(await ask('b', scopes)).toMatchObject({ kind: 'wait', waitMs: 1_000 });
    });

    test('who is called too often, or asks for a wait, slows nobody but itself: no wider scope, and no declared key', async () => {
      const wide: readonly CallScope[] = [{ key: 'provider' }, { key: 'key', rate: { count: 100, perMs: 1_000 } }];
      const [one, other] = ['one', 'other'].map((key) => [...wide, { key, isAsked: true }]) as [
        CallScope[],
        CallScope[],
      ];
      for (let at = 0; at < 2 * CALL_RULES.faultsInRow; at++) {
        await end(`f${at}`, one, await pass(`f${at}`, one), { kind: 'fault', why: '429', isLimited: true });
        time.jump(CALL_RULES.askedMaxMs);
      }
      await end('g', one, await pass('g', one), { ...FAULT, askedMs: 86_400_000 });
      expect(await ask('x', one)).toMatchObject({ kind: 'wait', faultMs: CALL_RULES.askedMaxMs });
      for (let at = 0; at < 4; at++) expect(await ask(`y${at}`, other)).toMatchObject({ kind: 'pass', inMs: 0 });
    });

    test('tokens are counted as they were said before the call, and settled after it', async () => {
      const scopes = [{ key: 'tokens', tokens: { count: 1_000, perMs: 10_000 } }];
      const more = { tokens: 500 };
      const call = await pass('a', scopes, more);
      expect(await ask('b', scopes, more)).toMatchObject({ kind: 'wait', waitMs: 4_500 });
      await end('a', scopes, call, { kind: 'answered', tookMs: 100, tokens: 10 }, more);
      await pass('b', scopes, more);
    });

    test('a receiver that says that it is called too often is called half as often, and then more again', async () => {
      const rate = { count: 1_000, perMs: 10_000 };
      const scopes = [{ key: 'aimd', rate, isAsked: true }];
      await end('a', scopes, await pass('a', scopes), { kind: 'fault', why: '429', isLimited: true });
      const spaceOf = async (who: string): Promise<number> => {
        const call = await pass(who, scopes, { waitMaxMs: 60_000 });
        const beganMs = time.nowMs;
        for (;;) {
          const turn = await ask(`${who}'`, scopes, { waitMaxMs: 0 });
          if (turn.kind === 'pass') {
            await end(who, scopes, call, ANSWERED);
            return time.nowMs - beganMs;
          }
          time.jump(turn.waitMs);
        }
      };
      time.jump(100);
      expect(await spaceOf('b')).toBeCloseTo(20, -1);
      for (let at = 0; at < 100; at++) await end(`r${at}`, scopes, `r${at}`, ANSWERED);
      time.jump(100);
      expect(await spaceOf('c')).toBeLessThanOrEqual(10);
    });
  });
}
