/** The demand of pools: running work counts, work of dead workers counts, and unknown demand is not reported. */

import {
  type Dispatch,
  type Epoch,
  type HolderId,
  type TenantId,
  UnavailableError,
  type WorkflowId,
} from '@tidemark/core';
import type { LeaseRow, RunnableStream, StreamRow } from '@tidemark/ports';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { beforeEach, describe, expect, it } from 'vitest';
import { PausedQueues } from '../control/paused-queues.ts';
import { Demand, type DemandPoll } from './demand.ts';
import { DEMAND_MISSES, DEMAND_STALE_MS } from './limits.ts';

const TENANT = 'acme' as TenantId;
const NOTHING_HELD = new PausedQueues([]);

describe('demand', () => {
  let clock: SimulatedClock;
  const at = (ms: number): void => clock.jump(ms - clock.monotonicMs());
  let demand: Demand;
  beforeEach(() => {
    clock = new SimulatedClock();
    demand = new Demand(clock);
  });

  /** A row: leased with a holder, otherwise runnable unless it is said to be idle. */
  const row = (name: string, epoch: number, holder: string | null, fields: Partial<StreamRow> = {}) =>
    ({
      ...{ workflow: name as WorkflowId, tenant: TENANT, definition: 'd', epoch: epoch as Epoch },
      ...{ holder: holder as HolderId | null, runnable: holder === null, ...fields },
    }) as StreamRow & RunnableStream & LeaseRow;
  const living = (...holders: string[]) => new Map(holders.map((holder) => [holder as HolderId, true]));
  const ready = (...rows: RunnableStream[]) => {
    const poll = demand.beginPoll();
    poll.foundRunnable(rows, NOTHING_HELD);
    poll.end();
  };
  const leased = (holders: readonly string[] | undefined, ...rows: LeaseRow[]) => {
    const poll = demand.beginPoll();
    poll.foundLeases(rows, holders && living(...holders));
    poll.end();
  };
  const counts = (pool = 'default') => {
    const { inFlightCount, backlogCount, recoveryDebtCount, demandCount } = demand.of(pool);
    expect(demandCount).toBe(inFlightCount + backlogCount + recoveryDebtCount);
    return [inFlightCount, backlogCount, recoveryDebtCount];
  };

  it('is not told before both kinds of look were made, nor when they are old', () => {
    expect(() => demand.snapshot()).toThrow(UnavailableError);
    ready();
    expect(() => demand.snapshot()).toThrow(expect.objectContaining({ code: 'demand-unknown' }));
    leased([]);
    expect(counts()).toEqual([0, 0, 0]);
    at(DEMAND_STALE_MS);
    expect(counts()).toEqual([0, 0, 0]);
    clock.jump(1);
    expect(() => demand.snapshot()).toThrow(UnavailableError);
    // One kind of poll alone is not enough.
    ready();
    expect(() => demand.snapshot()).toThrow(UnavailableError);
  });

  describe('once looked at', () => {
    beforeEach(() => {
      ready();
      leased([]);
    });

    it('follows what is written: waiting, in flight to its end, gone', () => {
      demand.applied([row('a', 0, null), row('b', 0, null)]);
      expect(counts()).toEqual([0, 2, 0]);
      demand.applied([row('a', 1, 'w1')]);
      expect(counts()).toEqual([1, 1, 0]);
      expect(demand.of('default').busyWorkerCount).toBe(1);
      demand.applied([row('a', 1, null, { runnable: false })]);
      expect(counts()).toEqual([0, 1, 0]);
      expect(demand.of('default').busyWorkerCount).toBe(0);
    });

    it('counts busy workers once, however much they have', () => {
      demand.applied([row('a', 1, 'w1'), row('b', 1, 'w1'), row('c', 1, 'w2')]);
      expect(demand.of('default')).toMatchObject({ busyWorkerCount: 2, inFlightCount: 3 });
    });

    it('counts what a dead worker had as debt, from its death to the next claim, and the worker itself not as busy', () => {
      demand.applied([row('a', 1, 'w1'), row('b', 1, 'w2')]);
      leased(['w2'], row('a', 1, 'w1'), row('b', 1, 'w2'));
      expect(counts()).toEqual([1, 0, 1]);
      expect(demand.of('default').busyWorkerCount).toBe(1);
      // Revoked: it is runnable, and not leased.
      demand.applied([row('a', 1, null)]);
      expect(counts()).toEqual([1, 0, 1]);
      ready(row('a', 1, null));
      expect(counts()).toEqual([1, 0, 1]);
      demand.applied([row('a', 2, 'w2')]);
      expect(counts()).toEqual([2, 0, 0]);
    });

    it('takes nobody for dead by a view that proves nothing', () => {
      leased(undefined, row('a', 1, 'w1'));
      expect(counts()).toEqual([1, 0, 0]);
    });

    it("sees others' partitions by looks alone", () => {
      ready(row('a', 0, null));
      expect(counts()).toEqual([0, 1, 0]);
      leased(['w1'], row('a', 1, 'w1'));
      expect(counts()).toEqual([1, 0, 0]);
    });

    it('never loses what moves between the looks, and lets go of what both have missed', () => {
      leased(['w1'], row('a', 1, 'w1'));
      // Released and claimed again, each time just before the poll that would have found it.
      ready();
      expect(counts()).toEqual([1, 0, 0]);
      leased(['w1']);
      expect(counts()).toEqual([1, 0, 0]);
      ready(row('a', 1, null));
      expect(counts()).toEqual([0, 1, 0]);
      for (let round = 0; round < DEMAND_MISSES; round++) {
        expect(counts()).toEqual([0, 1, 0]);
        ready();
        leased(['w1']);
      }
      expect(counts()).toEqual([0, 0, 0]);
    });

    it('does not fall back to what an older look found', () => {
      const poll: DemandPoll = demand.beginPoll();
      demand.applied([row('a', 1, 'w1'), row('b', 3, null, { runnable: false })]);
      poll.foundRunnable([row('a', 0, null), row('b', 3, null)], NOTHING_HELD);
      poll.end();
      expect(counts()).toEqual([1, 0, 0]);
      // The next poll began after it was written.
      ready(row('b', 3, null));
      expect(counts()).toEqual([1, 1, 0]);
    });

    it('leaves out what waits in a paused queue, and not what is in flight of it', () => {
      const rows = [row('a', 0, null), row('b', 0, null, { tenant: 'globex' as TenantId })];
      demand.applied([...rows, row('c', 1, 'w1')]);
      const held = new PausedQueues([{ definition: 'd', tenant: TENANT, by: 'ana', why: 'down', sinceMs: 0 }]);
      const poll = demand.beginPoll();
      poll.foundRunnable(rows, held);
      poll.end();
      expect(demand.of('default')).toMatchObject({ inFlightCount: 1, backlogCount: 1, heldCount: 1, demandCount: 2 });
    });

    it('tells how long the oldest has waited: from its wait, or the death of its holder, until a claim', () => {
      const oldest = () => demand.oldestAgesMs().get('default');
      expect(oldest()).toBe(0);
      demand.applied([row('a', 0, null)]);
      at(10);
      demand.applied([row('a', 0, null), row('b', 1, 'w1')]);
      at(50);
      // A leased workflow does not wait, however long it takes.
      expect(oldest()).toBe(50);
      demand.applied([row('a', 1, 'w1')]);
      expect(oldest()).toBe(0);
      at(60);
      leased([], row('b', 1, 'w1'), row('a', 1, 'w2'));
      at(75);
      demand.applied([row('b', 1, null)]);
      at(80);
      expect(oldest()).toBe(20);
      // Claimed and released between two polls: its wait starts again.
      demand.applied([row('a', 2, 'w3'), row('b', 2, null)]);
      at(81);
      expect(oldest()).toBe(1);
    });

    it('and not how long a paused queue keeps its work', () => {
      const poll = demand.beginPoll();
      poll.foundRunnable(
        [row('a', 0, null)],
        new PausedQueues([{ definition: 'd', tenant: TENANT, by: 'ana', why: 'down', sinceMs: 0 }]),
      );
      poll.end();
      at(50);
      expect(demand.oldestAgesMs().get('default')).toBe(0);
    });

    describe('leaves out what its limits keep from beginning', () => {
      const limited = (limits: NonNullable<Dispatch['limits']>) => ({ dispatch: { limits } });
      const at = (...fields: Partial<StreamRow>[]) => Object.assign({}, ...fields) as Partial<StreamRow>;
      const reported = () => {
        const { inFlightCount, backlogCount, recoveryDebtCount, limitedCount, demandCount } = demand.of('default');
        expect(demandCount).toBe(inFlightCount + backlogCount + recoveryDebtCount);
        return { inFlightCount, backlogCount, recoveryDebtCount, limitedCount };
      };
      const wait = (count: number, fields: Partial<StreamRow>, name = 'w') =>
        demand.applied(Array.from({ length: count }, (_, n) => row(`${name}${n}`, 0, null, fields)));

      it('of concurrency: as many count as may run', () => {
        const two = limited([{ key: 'k', concurrency: 2 }]);
        wait(10, two);
        expect(reported()).toEqual({ inFlightCount: 0, backlogCount: 2, recoveryDebtCount: 0, limitedCount: 8 });
        demand.applied([row('w0', 1, 'w', two), row('w1', 1, 'w', two)]);
        expect(reported()).toEqual({ inFlightCount: 2, backlogCount: 0, recoveryDebtCount: 0, limitedCount: 8 });
        expect(demand.limited(['w0', 'w2', 'x'] as WorkflowId[])).toEqual(new Map([['w2', 'k']]));
        // One ends, and the other waits for a timer, so it does not run.
        demand.applied([
          row('w0', 1, null, at(two, { runnable: false })),
          row('w1', 1, null, at(two, { runnable: false })),
        ]);
        expect(reported()).toMatchObject({ backlogCount: 2, limitedCount: 6 });
        expect(demand.limited(['w2'] as WorkflowId[]).size).toBe(0);
        // Control: without limits all of them count.
        wait(10, {}, 'free');
        expect(reported()).toMatchObject({ backlogCount: 12, limitedCount: 6 });
      });

      it('by tenant, or over the fleet; the tightest of several', () => {
        const globex = { tenant: 'globex' as TenantId };
        const own = limited([{ key: 'k', concurrency: 1 }]);
        wait(3, own, 'a');
        wait(3, at(own, globex), 'b');
        expect(reported()).toMatchObject({ backlogCount: 2, limitedCount: 4 });
        const both = limited([
          { key: 'k', concurrency: 5 },
          { key: 'all', scope: 'fleet', concurrency: 2 },
        ]);
        wait(3, both, 'c');
        wait(3, at(both, globex), 'd');
        expect(reported()).toMatchObject({ backlogCount: 4, limitedCount: 8 });
      });

      it('of rates: what has begun in the period is in it, and what has begun once counts against none', () => {
        const rate = limited([{ key: 'k', rate: { count: 3, perMs: 1_000 } }]);
        wait(5, rate);
        expect(reported()).toMatchObject({ backlogCount: 3, limitedCount: 2 });
        demand.applied([row('w0', 1, 'w', rate), row('w1', 1, 'w', rate)]);
        expect(reported()).toMatchObject({ inFlightCount: 2, backlogCount: 1, limitedCount: 2 });
        clock.jump(1_000);
        expect(reported()).toMatchObject({ backlogCount: 3, limitedCount: 0 });
        demand.applied([row('w0', 1, null, rate), row('w1', 1, null, rate)]);
        expect(reported()).toMatchObject({ backlogCount: 5, limitedCount: 0 });
      });

      it("as looks see it in others' partitions, whose leases tell no limits", () => {
        const one = limited([{ key: 'k', concurrency: 1 }]);
        ready(row('a', 0, null, one), row('b', 0, null, one));
        expect(reported()).toMatchObject({ backlogCount: 1, limitedCount: 1 });
        leased(['w1'], row('a', 1, 'w1'));
        ready(row('b', 0, null, one));
        expect(reported()).toEqual({ inFlightCount: 1, backlogCount: 0, recoveryDebtCount: 0, limitedCount: 1 });
      });

      it('and not what a paused queue keeps, which takes no room', () => {
        const one = limited([{ key: 'k', scope: 'fleet', concurrency: 1 }]);
        const rows = [row('a', 0, null, one), row('b', 0, null, at(one, { tenant: 'globex' as TenantId }))];
        const poll = demand.beginPoll();
        poll.foundRunnable(
          rows,
          new PausedQueues([{ definition: 'd', tenant: TENANT, by: 'ana', why: 'down', sinceMs: 0 }]),
        );
        poll.end();
        expect(demand.of('default')).toMatchObject({ backlogCount: 1, heldCount: 1, limitedCount: 0 });
      });
    });

    it('knows nothing any more once rows were lost', () => {
      demand.applied([row('a', 0, null)]);
      demand.forget();
      expect(() => demand.snapshot()).toThrow(UnavailableError);
      ready();
      leased([]);
      expect(counts()).toEqual([0, 0, 0]);
    });
  });

  it('is told by pool: undos and schedules with their definition, work of nobody apart, of the system with the first', () => {
    const pools = [
      { name: 'pay', definitions: new Set(['refund']) },
      { name: 'crawl', definitions: new Set(['crawl', 'both']) },
      { name: 'other', definitions: new Set(['both']) },
    ];
    demand = new Demand(clock, pools);
    ready();
    leased([]);
    const names = ['refund', 'refund~undo', 'crawl~schedule', 'both', 'elsewhere', 'tidemark.bulk'];
    demand.applied(names.map((definition) => row(definition, 0, null, { definition })));
    expect(demand.snapshot().pools.map(({ pool, demandCount }) => [pool, demandCount])).toEqual([
      ['pay', 3],
      ['crawl', 2],
      ['other', 1],
    ]);
    expect(demand.snapshot().unassignedCount).toBe(1);
    expect(() => demand.of('none')).toThrow(expect.objectContaining({ code: 'pool-unknown' }));
    const twice = () => new Demand(clock, [pools[0]!, pools[0]!]);
    expect(twice).toThrow(expect.objectContaining({ code: 'pool-twice' }));
  });
});
