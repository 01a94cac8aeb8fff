/** Runs the contract of CallLimiter on Redis, holds its script to the same answers as memory's, and what happens while the server is away. */

import { tenantId } from '@tidemark/core';
import type { AskedTurn, CallEnd, CallScope } from '@tidemark/ports';
import { createMemoryCalls } from '@tidemark/queue-memory';
import { askedBy, callLimiterContract } from '@tidemark/testkit/contracts/call-limiter';
import { describeServers, freshRedisPrefix } from '@tidemark/testkit/suites';
import { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { openRedisCalls } from './redis-calls.ts';

/** Numbers in [0, 1), the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SCOPES: readonly (readonly CallScope[])[] = [
  [{ key: 'open' }, { key: 'narrow', isAsked: true }],
  [{ key: 'open' }, { key: 'rate', rate: { count: 40, perMs: 10_000 }, isAsked: true }],
  [
    { key: 'rate', rate: { count: 20, perMs: 10_000 } },
    { key: 'slots', concurrency: 2 },
  ],
  [{ key: 'tokens', tokens: { count: 1_000, perMs: 10_000 }, rate: { count: 100, perMs: 10_000 } }],
];

describeServers('redis calls', ['redis'], ({ redis: url }) => {
  callLimiterContract('redis', async (nowMs) => {
    const limiter = openRedisCalls({ url, prefix: freshRedisPrefix(), nowMs });
    return { limiter, close: () => limiter.close() };
  });

  test.each([1, 2, 3])('its script answers as memory does (seed %i)', async (seed) => {
    const random = randomOf(seed);
    let nowMs = 0;
    const ofRedis = openRedisCalls({ url, prefix: freshRedisPrefix(), nowMs: () => nowMs });
    const ofMemory = createMemoryCalls({ monotonicMs: () => nowMs });
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)]!;
    const underWay: { readonly asked: AskedTurn; readonly calls: readonly [string, string] }[] = [];
    try {
      for (let step = 0; step < 400; step++) {
        nowMs += pick([0, 1, 40, 700]);
        const ended = random() < 0.4 ? underWay.splice(Math.floor(random() * underWay.length), 1)[0] : undefined;
        if (ended !== undefined) {
          const how = pick<CallEnd>([
            { kind: 'answered', tookMs: 300, tokens: 20 },
            { kind: 'fault', why: '503', isLimited: false },
            { kind: 'fault', why: '429', isLimited: true, ...(random() < 0.3 && { askedMs: 2_000 }) },
            { kind: 'unmade' },
            { kind: 'unknown' },
          ]);
          await ofRedis.end(ended.asked, ended.calls[0], how);
          await ofMemory.end(ended.asked, ended.calls[1], how);
          continue;
        }
        const tenant = tenantId(pick(['a', 'b', 'c']));
        const more = { tenant, tokens: 50, waitMaxMs: pick([0, 1_000]), timeoutMs: 20_000 };
        const asked = askedBy(`w${Math.floor(random() * 40)}`, pick(SCOPES), more);
        const [one, two] = [await ofRedis.ask(asked), await ofMemory.ask(asked)];
        if (one.kind === 'pass' && two.kind === 'pass') {
          expect(one.inMs, `step ${step}`).toBeCloseTo(two.inMs, 3);
          underWay.push({ asked, calls: [one.call, two.call] });
        } else {
          expect({ ...one, waitMs: 0, faultMs: 0 }, `step ${step}`).toEqual({ ...two, waitMs: 0, faultMs: 0 });
          if (one.kind === 'wait' && two.kind === 'wait')
            expect(
              Math.abs(one.waitMs - two.waitMs),
              `step ${step} ${JSON.stringify([asked, one, two])}`,
            ).toBeLessThanOrEqual(1);
        }
      }
    } finally {
      await Promise.all([ofRedis.close(), ofMemory.close()]);
    }
  });

  test('a flushed server forgets, and calls pass', async () => {
    const prefix = freshRedisPrefix();
    const limiter = openRedisCalls({ url, prefix, nowMs: () => 0 });
    const redis = new Redis(url);
    try {
      const scopes = [{ key: 'r', rate: { count: 1, perMs: 60_000 } }];
      const kinds = [await limiter.ask(askedBy('a', scopes)), await limiter.ask(askedBy('b', scopes))].map(
        ({ kind }) => kind,
      );
      expect(kinds).toEqual(['pass', 'wait']);
      await redis.del(...(await redis.keys(`${prefix}:calls:*`)));
      expect(await limiter.ask(askedBy('b', scopes))).toMatchObject({ kind: 'pass', inMs: 0 });
    } finally {
      redis.disconnect();
      await limiter.close();
    }
  });

  test('what is declared is kept until the next call may be made, and what is not no longer than its trouble', async () => {
    const prefix = freshRedisPrefix();
    const limiter = openRedisCalls({ url, prefix, nowMs: () => 0 });
    const redis = new Redis(url);
    try {
      const [weekly, free] = [
        [{ key: 'weekly', rate: { count: 1, perMs: 7 * 86_400_000 } }],
        [{ key: 'free', isAsked: true }],
      ];
      await limiter.ask(askedBy('a', weekly));
      await limiter.end(askedBy('b', free), '', { kind: 'fault', why: '429', isLimited: true, askedMs: 1_000 });
      const hours = async (key: string) => Math.round((await redis.pttl(`${prefix}:calls:figures:${key}`)) / 3_600_000);
      expect([await hours('weekly'), await hours('free')]).toEqual([168, 0]);
    } finally {
      redis.disconnect();
      await limiter.close();
    }
  });

  test('while the server is away calls pass, and only the first waits for it', async () => {
    const limiter = openRedisCalls({ url: 'redis://127.0.0.1:1', prefix: 'away' });
    try {
      const scopes = [{ key: 'r', rate: { count: 1, perMs: 60_000 } }];
      for (let at = 0; at < 50; at++)
        expect(await limiter.ask(askedBy(`w${at}`, scopes))).toMatchObject({ kind: 'pass' });
    } finally {
      await limiter.close();
    }
  });
});
