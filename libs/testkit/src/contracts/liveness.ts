/**
 * Owns the contract of Liveness as tests; every adapter runs it. `open` gives a store of its own for each test; `pass` advances time, on
 * the adapter's clock or really. `other` is a second process's view of the same store (the same object where the adapter is in process).
 */

import { epoch, type HolderId, holderId, workflowId } from '@tidemark/core';
import type { Liveness, LivenessView, ReportedLease } from '@tidemark/ports';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../eventually.ts';

export interface OpenedLiveness {
  readonly liveness: Liveness;
  readonly other: Liveness;
  /** False where the reader can't outlive the holder: a beat counts until its holder leaves. */
  readonly runsOut: boolean;
  /** Whether the holder's connection to `other` stands; absent where there are none. */
  isConnected?(holder: HolderId): boolean;
  pass(ms: number): void;
  close(): Promise<void>;
}

const lease = (workflow: string, number: number): ReportedLease => ({
  workflow: workflowId(workflow),
  epoch: epoch(number),
});
const a = holderId('worker-a:1#x');
const b = holderId('worker b/2');
const c = holderId('worker-c');
/** Long enough to outlast a test. */
const LONG_MS = 60_000;
const SHORT_MS = 40;

export function livenessContract(name: string, open: () => Promise<OpenedLiveness>): void {
  describe(`liveness contract: ${name}`, () => {
    let opened: OpenedLiveness;
    const poll = (markerAgeMs = 0): Promise<LivenessView> => opened.other.view({ markerAgeMs });
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    test('nobody lives at first', async () => {
      expect((await poll()).holders.size).toBe(0);
    });

    test('who beats lives, with the leases it names', async () => {
      expect(await opened.liveness.beat(a, [lease('order:1 ☂', 3), lease('order:2', 1)], LONG_MS)).toBe(true);
      expect(await opened.liveness.beat(b, [], LONG_MS)).toBe(true);
      const { holders } = await poll();
      expect(holders.get(a)).toEqual(new Map([['order:1 ☂', 3], ['order:2', 1]])); // biome-ignore format: one a pair
      expect(holders.get(b)).toEqual(new Map());
      expect(holders.size).toBe(2);
    });

    test('what who lives announces is told by build, all workers of one together, until they are gone', async () => {
      const { liveness } = opened;
      expect((await poll()).builds).toEqual(new Map());
      const serves = ['1 one', '1! one', '2 zwei'];
      const announced = { build: 'app:2', serves, routes: ['1 one', '1! one'], concurrency: 7 };
      await liveness.beat(a, [lease('w1', 1)], LONG_MS, LONG_MS, announced);
      await liveness.beat(b, [], LONG_MS, LONG_MS, { build: 'app:2', serves: [], routes: ['1 one', '3 two ☂'] });
      await liveness.beat(c, [], LONG_MS, LONG_MS, { serves, routes: [] });
      const view = await poll();
      expect(view.announced.get(a)).toEqual(announced);
      expect(view.announced.get(c)).toEqual({ serves, routes: [] });
      // It takes no more jobs.
      await liveness.beat(c, [], LONG_MS, LONG_MS);
      expect([...(await poll()).announced.keys()].toSorted()).toEqual([a, b].toSorted());
      await liveness.leave(c);
      expect(view.builds).toEqual(new Map([['app:2', new Set(['1 one', '1! one', '3 two ☂'])]]));
      expect(view.holders.get(a)).toEqual(new Map([['w1', 1]]));
      await liveness.beat(a, [], LONG_MS, LONG_MS, announced);
      await liveness.leave(b);
      expect((await poll()).builds).toEqual(new Map([['app:2', new Set(['1 one', '1! one'])]]));
      await liveness.leave(a);
      expect((await poll()).builds.size).toBe(0);
    });

    test('a later beat replaces the leases of the one before', async () => {
      await opened.liveness.beat(a, [lease('w1', 1), lease('w2', 1)], LONG_MS);
      await opened.liveness.beat(a, [lease('w2', 2)], LONG_MS);
      expect((await poll()).holders).toEqual(new Map([[a, new Map([['w2', 2]])]]));
    });

    test('a beat runs out', async (context) => {
      if (!opened.runsOut) context.skip();
      await opened.liveness.beat(a, [lease('w1', 1)], SHORT_MS);
      await opened.liveness.beat(b, [], LONG_MS);
      opened.pass(SHORT_MS);
      const view = await eventually(async () => {
        const seen = await poll();
        return seen.holders.has(a) ? undefined : seen;
      });
      expect([...view.holders.keys()]).toEqual([b]);
      // A missing beat proves nothing.
      expect([view.isGone(a), view.isGone(b)]).toEqual([false, false]);
      await opened.liveness.beat(a, [], LONG_MS);
      expect((await poll()).holders.has(a)).toBe(true);
    });

    test('leaving counts at once; leaving twice or unknown is harmless', async () => {
      await opened.liveness.beat(a, [], LONG_MS);
      await opened.liveness.leave(a);
      await opened.liveness.leave(a);
      await opened.liveness.leave(b);
      expect((await poll()).holders.size).toBe(0);
    });

    test('who vanishes is told of at once to all who watch, and is not seen any more', async () => {
      const gone: HolderId[] = [];
      const unwatch = await opened.other.watch((holder) => gone.push(holder));
      // Learns of the watching process, and connects.
      await eventually(async () => {
        await opened.liveness.beat(a, [lease('w1', 1)], LONG_MS);
        await opened.liveness.beat(b, [], LONG_MS);
        await poll();
        return opened.isConnected?.(a) !== false && opened.isConnected?.(b) !== false;
      });
      await opened.liveness.vanish(a);
      await eventually(async () => gone.length > 0);
      expect(gone).toEqual([a]);
      const view = await poll();
      expect([...view.holders.keys()]).toEqual([b]);
      expect([view.isGone(a), view.isGone(b)]).toEqual([true, false]);
      await unwatch();
      await opened.liveness.vanish(b);
      expect(gone).toEqual([a]);
    });

    test('a holder hears of its share, and no other does', async () => {
      const heard: (readonly [HolderId, number])[] = [];
      const beat = (holder: HolderId): Promise<boolean> =>
        opened.liveness.beat(holder, [], LONG_MS, LONG_MS, undefined, (max) => heard.push([holder, max]));
      const unwatch = await opened.other.watch(() => {});
      await eventually(async () => {
        await beat(a);
        await beat(b);
        await poll();
        return opened.isConnected?.(a) !== false && opened.isConnected?.(b) !== false;
      });
      opened.other.share(a, 7);
      await eventually(() => heard.length > 0);
      opened.other.share(c, 1);
      opened.other.share(b, 3);
      await eventually(() => heard.length > 1);
      expect(heard).toEqual([[a, 7], [b, 3]]); // biome-ignore format: one a pair
      await unwatch();
    });

    test('who leaves is told of to nobody', async () => {
      const gone: HolderId[] = [];
      const unwatch = await opened.other.watch((holder) => gone.push(holder));
      await eventually(async () => {
        await opened.liveness.beat(a, [], LONG_MS);
        await opened.liveness.beat(b, [], LONG_MS);
        await poll();
        return opened.isConnected?.(a) !== false && opened.isConnected?.(b) !== false;
      });
      await opened.liveness.leave(a);
      // Later disappearances are reported later.
      await opened.liveness.vanish(b);
      await eventually(async () => gone.length > 0);
      expect(gone).toEqual([b]);
      await unwatch();
    });

    test('the view becomes trusted and stays so', async () => {
      await eventually(async () => {
        const view = await poll(SHORT_MS);
        if (!view.trusted) opened.pass(SHORT_MS);
        return view.trusted;
      });
      expect((await poll(SHORT_MS)).trusted).toBe(true);
    });

    test('thousands of leases', async () => {
      const leases = Array.from({ length: 3_000 }, (_, index) => lease(`workflow-${index}`, index + 1));
      await opened.liveness.beat(a, leases, LONG_MS);
      const held = (await poll()).holders.get(a);
      expect(held?.size).toBe(3_000);
      expect(held?.get(workflowId('workflow-2999'))).toBe(3_000);
    });
  });
}
