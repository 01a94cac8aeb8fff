/** Runs the contract of Liveness on Redis, and what its marker promises. */

import { holderId } from '@tidemark/core';
import { livenessContract } from '@tidemark/testkit/contracts/liveness';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { eventually } from '@tidemark/testkit/eventually';
import { describeServers, freshRedisPrefix } from '@tidemark/testkit/suites';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parseAdverts } from './judge.ts';
import { type PresenceAdvert, PresenceClient } from './presence-client.ts';
import { beatScript, openRedisLiveness, type RedisLiveness } from './redis-liveness.ts';

const AGE_MS = 1_000;

describeServers('redis liveness', ['redis'], ({ redis: url }) => {
  livenessContract('redis', async () => {
    const prefix = freshRedisPrefix();
    let aheadMs = 0;
    const clock = { monotonicMs: () => performance.now() + aheadMs };
    const liveness = openRedisLiveness({ url, prefix, clock });
    const other = openRedisLiveness({ url, prefix, clock });
    return {
      liveness,
      other,
      runsOut: true,
      isConnected: (holder) => other.isConnected(holder),
      // Beats run out on the server's clock, which no test moves; the marker's age is on this one.
      pass(ms) {
        aheadMs += ms;
      },
      async close() {
        await Promise.all([liveness.close(), other.close()]);
      },
    };
  });

  test('trusted only once the same marker has stood for markerAgeMs, and anew after it is lost', async () => {
    const prefix = freshRedisPrefix();
    const clock = new SimulatedClock();
    const liveness = openRedisLiveness({ url, prefix, clock });
    const redis = new Redis(url);
    const trustedAt = async (ms: number): Promise<boolean> => {
      clock.jump(ms - clock.monotonicMs());
      return (await liveness.view({ markerAgeMs: AGE_MS })).trusted;
    };
    expect(await trustedAt(0)).toBe(false);
    expect(await trustedAt(AGE_MS - 1)).toBe(false);
    expect(await trustedAt(AGE_MS)).toBe(true);
    expect(await trustedAt(AGE_MS * 2)).toBe(true);
    await redis.del(`${prefix}:live:marker`);
    expect(await trustedAt(AGE_MS * 3)).toBe(false);
    expect(await trustedAt(AGE_MS * 4 - 1)).toBe(false);
    expect(await trustedAt(AGE_MS * 4)).toBe(true);
    redis.disconnect();
    await liveness.close();
  });

  test('a marker of another run of the server, as a restored snapshot has it, does not count', async () => {
    const prefix = freshRedisPrefix();
    const clock = new SimulatedClock();
    const liveness = openRedisLiveness({ url, prefix, clock });
    const redis = new Redis(url);
    await liveness.view({ markerAgeMs: AGE_MS });
    const stood = await redis.get(`${prefix}:live:marker`);
    await redis.set(`${prefix}:live:marker`, `${'0'.repeat(40)}.x`, 'PX', 60_000);
    clock.jump(AGE_MS);
    expect((await liveness.view({ markerAgeMs: AGE_MS })).trusted).toBe(false);
    const stands = await redis.get(`${prefix}:live:marker`);
    expect(stands?.slice(0, 40)).toBe(stood?.slice(0, 40));
    expect(stands).not.toBe(stood);
    redis.disconnect();
    await liveness.close();
  });

  test('the set of holders is cleaned of the dead; marker and beats end by themselves', async () => {
    const prefix = freshRedisPrefix();
    const liveness = openRedisLiveness({ url, prefix });
    const redis = new Redis(url);
    await liveness.beat(holderId('dead'), [], 60_000);
    await liveness.beat(holderId('alive'), [], 60_000);
    await redis.del(`${prefix}:live:beat:dead`);
    expect([...(await liveness.view({ markerAgeMs: 0 })).holders.keys()]).toEqual(['alive']);
    expect(await redis.zrange(`${prefix}:live:holders`, '0', '-1')).toEqual(['alive']);
    expect(await redis.pttl(`${prefix}:live:marker`)).toBeGreaterThan(0);
    expect(await redis.pttl(`${prefix}:live:beat:alive`)).toBeGreaterThan(0);
    redis.disconnect();
    await liveness.close();
  });

  describe('a holder with connections to several coordinators', () => {
    const a = holderId('a');
    const open: { close(): unknown }[] = [];
    let prefix: string;
    let redis: Redis;
    const gone: string[] = [];
    beforeEach(() => {
      gone.length = 0;
      prefix = freshRedisPrefix();
      redis = new Redis(url);
      open.push({ close: () => redis.disconnect() });
    });
    afterEach(async () => {
      for (const one of open.splice(0).reverse()) await one.close();
    });

    const coordinator = async (name: string) => {
      const liveness = openRedisLiveness({ url, prefix });
      open.push(liveness);
      await liveness.watch(() => gone.push(name));
      return liveness;
    };
    const adverts = async () => parseAdverts(await redis.zrange(`${prefix}:live:coordinators`, '0', '-1'));
    /** A connection to one coordinator, which can be cut alone. */
    const connectTo = async (advert: PresenceAdvert) => {
      const client = new PresenceClient(a);
      open.push({ close: () => client.vanish() });
      client.meet([advert]);
      await eventually(() => client.standing.length === 1);
      return client;
    };
    const beat = async (standing: readonly string[]) => {
      const keys = ['beat:a', 'leases:a', 'holders', 'coordinators'].map((name) => `${prefix}:live:${name}`);
      await beatScript.run(redis, keys, [a, 60_000, 60_000, 1, standing.join(','), '1 []']);
    };
    const sees = async (liveness: RedisLiveness) => (await liveness.view({ markerAgeMs: 0 })).holders.has(a);
    const standToTwo = async () => {
      const first = await coordinator('c1');
      const [advert1] = await adverts();
      const second = await coordinator('c2');
      const advert2 = (await adverts()).find(({ id }) => id !== advert1!.id);
      const links = [await connectTo(advert1!), await connectTo(advert2!)] as const;
      await beat([advert1!.id, advert2!.id]);
      expect([await sees(first), await sees(second)]).toEqual([true, true]);
      return { first, second, links, advert1: advert1! };
    };

    test('lives when it is cut off from one, and not when it is from all: the last that tells knows at once', async () => {
      const { first, second, links } = await standToTwo();
      links[0].vanish();
      await eventually(() => gone.includes('c1'));
      for (const liveness of [first, second, first]) expect(await sees(liveness)).toBe(true);
      links[1].vanish();
      await eventually(() => gone.includes('c2'));
      expect(await sees(second)).toBe(false);
      expect(await sees(first)).toBe(false);
    });

    test('and is dead at once by the same cut where there is one coordinator (the control)', async () => {
      const only = await coordinator('c1');
      const [advert] = await adverts();
      const link = await connectTo(advert!);
      await beat([advert!.id]);
      expect(await sees(only)).toBe(true);
      link.vanish();
      await eventually(() => gone.includes('c1'));
      expect(await sees(only)).toBe(false);
    });

    test('that came back to one is not dead when it is cut off from the other', async () => {
      const { first, second, links, advert1 } = await standToTwo();
      links[0].vanish();
      await eventually(() => gone.includes('c1'));
      expect(await sees(first)).toBe(true);
      await connectTo(advert1);
      expect(await sees(first)).toBe(true);
      links[1].vanish();
      await eventually(() => gone.includes('c2'));
      for (const liveness of [second, first]) expect(await sees(liveness)).toBe(true);
    });

    test('waits for no word of a coordinator that died with it for longer than its words count', async () => {
      const { first, second, links } = await standToTwo();
      // As a killed process does: its advert stands.
      await first.close();
      // It would count for ten minutes more.
      for (const advert of await redis.zrange(`${prefix}:live:coordinators`, '0', '-1')) {
        await redis.zadd(`${prefix}:live:coordinators`, Date.now() + 600_000, advert);
      }
      links[1].vanish();
      await eventually(async () => !(await sees(second)));
      // The dead one's advert counts no longer, though it still exists.
      expect(await adverts()).toHaveLength(2);
    });
  });
});
