/** Runs the contract of Liveness on Redis, and what its marker promises. */

import { holderId } from '@tidemark/core';
import { livenessContract } from '@tidemark/testkit/contracts/liveness';
import { describeServers, freshRedisPrefix } from '@tidemark/testkit/suites';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { openRedisLiveness } from './redis-liveness.ts';

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
    let nowMs = 0;
    const liveness = openRedisLiveness({ url, prefix, clock: { monotonicMs: () => nowMs } });
    const redis = new Redis(url);
    const trustedAt = async (ms: number): Promise<boolean> => {
      nowMs = ms;
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
    let nowMs = 0;
    const liveness = openRedisLiveness({ url, prefix, clock: { monotonicMs: () => nowMs } });
    const redis = new Redis(url);
    await liveness.view({ markerAgeMs: AGE_MS });
    const stood = await redis.get(`${prefix}:live:marker`);
    await redis.set(`${prefix}:live:marker`, `${'0'.repeat(40)}.x`, 'PX', 60_000);
    nowMs = AGE_MS;
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
});
