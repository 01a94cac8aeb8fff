/**
 * Owns the tests of Redis' faults, on a server of this file's own: flushed, killed, restarted, cut off, stuck, locked. Jobs, hints and
 * beats may be lost; consumers, subscribers and producers resume by themselves, and nobody waits for ever. vitest fails the file on an
 * unhandled rejection or error event.
 */

import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { inspect } from 'node:util';
import { holderId, partition } from '@tidemark/core';
import type { Job, JobQueue } from '@tidemark/ports';
import { job, routesOf } from '@tidemark/testkit/contracts/job-queue-jobs';
import { SimulatedClock } from '@tidemark/testkit/engine/simulated-ports';
import { eventually } from '@tidemark/testkit/eventually';
import { isUnavailable, type NativeServer, startServer } from '@tidemark/testkit/servers';
import { freshRedisPrefix, missingServers } from '@tidemark/testkit/suites';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { openBullmqQueue } from './bullmq-queue.ts';
import type { QueueLimits } from './limits.ts';
import { openRedisHints } from './redis-hints.ts';
import { openRedisLiveness } from './redis-liveness.ts';

const RECOVERY = { timeoutMs: 60_000 };
const definition = 'd';
const some = (workflow: string): Job => job(workflow, { definition });

const started = await startServer('redis', { sources: ['native'] });

describe('Redis fails', () => {
  if (!isUnavailable(started) && started.source === 'native') defineFaults(started);
  else missingServers([isUnavailable(started) ? `${started.unavailable}; ${started.remedy}` : 'it may not be killed']);
});

function defineFaults(server: NativeServer): void {
  let admin: Redis;
  let prefix: string;
  const closers: (() => Promise<void>)[] = [];
  const printed = vi.fn();

  beforeEach(async () => {
    // A test that failed while it was down must not take the others with it.
    await server.startAgain();
    prefix = freshRedisPrefix();
    admin = new Redis(server.address, { retryStrategy: () => 20, maxRetriesPerRequest: null });
    admin.on('error', () => {});
    for (const method of ['log', 'warn', 'error', 'info'] as const) {
      vi.spyOn(console, method).mockImplementation(printed);
    }
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
    vi.restoreAllMocks();
    expect(printed.mock.calls).toEqual([]);
    await eventually(async () => (await connections(admin)) === 1, { what: 'every connection is closed' });
    admin.disconnect();
  });
  afterAll(() => server.stop());

  const openQueue = (limits: Partial<QueueLimits> = {}): JobQueue => {
    const queue = openBullmqQueue({ url: server.address, prefix, limits });
    closers.push(() => queue.close());
    return queue;
  };
  const collect = async (queue: JobQueue): Promise<Set<string>> => {
    const got = new Set<string>();
    await queue.consume({ concurrency: 10, routes: routesOf(definition) }, async (each) => void got.add(each.workflow));
    return got;
  };
  /** As the dispatcher does: enqueues the job again until it was taken. */
  const untilTaken = (queue: JobQueue, got: Set<string>, workflow: string): Promise<unknown> =>
    eventually(async () => {
      if (!got.has(workflow)) await queue.enqueue([some(workflow)]);
      return got.has(workflow);
    }, RECOVERY);

  test('flushed in mid-run, again and again: consumers go on (I6)', async () => {
    const queue = openQueue();
    const got = await collect(queue);
    for (let round = 0; round < 5; round += 1) {
      await queue.enqueue(Array.from({ length: 50 }, (_, index) => some(`lost-${round}-${index}`)));
      await admin.flushall();
      await queue.enqueue([some(`after-${round}`)]);
      await eventually(() => got.has(`after-${round}`));
    }
  });

  test('killed and started again: enqueue fails in bounded time, then all goes on; what runs is not disturbed', async () => {
    const queue = openQueue({ connectTimeoutMs: 10_000, commandTimeoutMs: 1_500 });
    const got = await collect(queue);
    let letGo: (() => void) | undefined;
    let ended = false;
    await queue.consume({ concurrency: 1, routes: routesOf('long') }, async () => {
      await new Promise<void>((resolve) => {
        letGo = resolve;
      });
      ended = true;
    });
    await queue.enqueue([some('before'), job('x', { definition: 'long' })]);
    await eventually(() => got.has('before') && letGo !== undefined, { what: 'both jobs run' });
    await server.kill();
    // The control: a queue with minutes still waits when this one has given up.
    const patient = openQueue({ connectTimeoutMs: 600_000, commandTimeoutMs: 600_000 });
    let patientEnded = false;
    void patient.enqueue([some('patient')]).then(
      () => (patientEnded = true),
      () => (patientEnded = true),
    );
    await expect(queue.enqueue([some('while')])).rejects.toMatchObject({
      name: 'UnavailableError',
      code: 'redis-unavailable',
      details: { address: server.address },
    });
    expect(patientEnded).toBe(false);
    letGo?.();
    await eventually(() => ended);
    await server.startAgain();
    await eventually(() => queue.enqueue([some('probe')]).then(() => true), RECOVERY);
    await untilTaken(queue, got, 'after');
  });

  test('every connection cut: all goes on', async () => {
    const queue = openQueue();
    const got = await collect(queue);
    for (let round = 0; round < 3; round += 1) {
      await admin.call('CLIENT', 'KILL', 'SKIPME', 'yes', 'TYPE', 'normal');
      await eventually(() => queue.enqueue([some(`r${round}`)]).then(() => true), RECOVERY);
      await untilTaken(queue, got, `r${round}`);
    }
  });

  test('a server that does not answer: enqueue and depth end in time, and work again afterwards', async () => {
    const queue = openQueue({ connectTimeoutMs: 10_000, commandTimeoutMs: 1_000 });
    const got = await collect(queue);
    await queue.enqueue([some('before')]);
    await admin.client('PAUSE', 4_000, 'ALL');
    await expect(queue.enqueue([some('stuck')])).rejects.toMatchObject({ name: 'UnavailableError' });
    await expect(queue.depth([definition])).rejects.toMatchObject({ name: 'UnavailableError' });
    await eventually(() => queue.enqueue([some('after')]).then(() => true), RECOVERY);
    await untilTaken(queue, got, 'after');
  });

  test('a network that swallows packets: consumers and subscribers notice, and go on over a new connection', async () => {
    const network = await openNetwork(server.address);
    closers.push(() => network.close());
    const limits = { idleBlockMs: 200, silenceMs: 500, commandTimeoutMs: 500 };
    const queue = openBullmqQueue({ url: network.address, prefix, limits });
    const bus = openRedisHints({ url: network.address, prefix });
    closers.push(async () => void (await Promise.all([queue.close(), bus.close()])));
    const got = await collect(queue);
    const heard = new Set<number>();
    await bus.subscribe('appended', (partitions) => {
      for (const each of partitions) heard.add(each);
    });
    for (const round of [0, 1]) {
      await untilTaken(queue, got, `round-${round}`);
      await eventually(() => {
        bus.publish('appended', partition(round));
        return heard.has(round);
      }, RECOVERY);
      if (round === 0) network.swallow();
    }
  });

  test('nobody at the address, or the wrong password: UnavailableError that names the address and no secret', async () => {
    const absent = 'redis://user:hush-hush@127.0.0.1:1/2';
    const locked = server.address.replace('redis://', 'redis://:hush-hush@');
    await admin.config('SET', 'requirepass', 'the-real-one');
    try {
      for (const [url, address] of [
        [absent, 'redis://127.0.0.1:1/2'],
        [locked, server.address],
      ] as const) {
        // biome-ignore format: one case each
        const queue = openBullmqQueue({ url, prefix, limits: { connectTimeoutMs: 300 } });
        const refused = queue.consume({ concurrency: 1, routes: routesOf(definition) }, async () => {});
        const error: unknown = await refused.catch((each: unknown) => each);
        expect(error).toMatchObject({ name: 'UnavailableError', details: { address } });
        await expect(queue.enqueue([some('a')])).rejects.toMatchObject({ name: 'UnavailableError' });
        expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('hush');
        await queue.close();
      }
    } finally {
      await admin.config('SET', 'requirepass', '');
    }
  });

  test('an address that is none is a ConfigError that does not repeat it', () => {
    for (const url of ['hush-hush', 'http://hush-hush@x']) {
      for (const open of [openBullmqQueue, openRedisHints, openRedisLiveness]) {
        expect(() => open({ url, prefix })).toThrow(expect.objectContaining({ code: 'redis-url-invalid' }));
        expect(() => open({ url, prefix })).not.toThrow(/hush/);
      }
    }
  });

  test('out of memory: enqueue says so, and the jobs can be added when there is room', async () => {
    const queue = openQueue();
    const got = await collect(queue);
    await admin.config('SET', 'maxmemory', '1');
    await expect(queue.enqueue([some('a')])).rejects.toThrow(/OOM/);
    await admin.config('SET', 'maxmemory', '0');
    await untilTaken(queue, got, 'a');
  });

  test('a taker that dies between taking and answering: the job comes back', async () => {
    const limits = { wakeupLockMs: 200, stalledCheckMs: 200 };
    const queue = openQueue(limits);
    await queue.enqueue([some('orphan')]);
    // What a consumer that died in the middle leaves: the wake-up in the active list, with a lock that expires.
    const keys = `${prefix}:jobs:${definition}@1`;
    const wakeup = (await admin.rpoplpush(`${keys}:wait`, `${keys}:active`)) ?? '';
    await admin.set(`${keys}:${wakeup}:lock`, 'dead', 'PX', 200);
    const got = await collect(queue);
    await eventually(() => got.has('orphan'), RECOVERY);
  });

  test('an enqueuer that dies before it sent a wake-up: the job gets one with the next that is sent', async () => {
    const queue = openQueue();
    await queue.enqueue([some('a')]);
    await admin.del(`${prefix}:jobs:${definition}@1:wait`);
    const got = await collect(queue);
    await untilTaken(queue, got, 'b');
    await eventually(() => got.has('a'));
  });

  test('control: without another, that job would wait for ever', async () => {
    const queue = openQueue();
    await queue.enqueue([some('a')]);
    await admin.del(`${prefix}:jobs:${definition}@1:wait`);
    const got = await collect(queue);
    await queue.enqueue([{ ...some('elsewhere'), definition: 'elsewhere' }]);
    await queue.consume({ concurrency: 1, routes: routesOf('elsewhere') }, async (job) => void got.add(job.workflow));
    await eventually(() => got.has('elsewhere'));
    expect([...got]).toEqual(['elsewhere']);
    expect((await queue.depth([definition])).get(definition)).toBe(1);
  });

  test('what runs under a limit when its process dies counts until its slot is lost, and no longer', async () => {
    const limits = { limitSlotTtlMs: 600, limitSweepMs: 100 };
    const dispatch = { limits: [{ key: 'one', concurrency: 1 }] };
    const queue = openQueue(limits);
    // What a process that died at work leaves.
    const running = `${prefix}:jobs:limits:${some('a').tenant}\none:running`;
    await admin.zadd(running, Date.now() + 600_000, 'dead');
    const got = await collect(queue);
    await queue.enqueue([{ ...some('limited'), dispatch }, some('free')]);
    await eventually(() => got.has('free'));
    expect(got.has('limited')).toBe(false);
    await admin.zadd(running, Date.now(), 'dead');
    await eventually(() => got.has('limited'), RECOVERY);
  });

  test('what runs under a limit for longer than a slot lasts keeps it', async () => {
    const limits = { limitSlotTtlMs: 2_000, limitSweepMs: 50 };
    const dispatch = { limits: [{ key: 'one', concurrency: 1 }] };
    const queue = openQueue(limits);
    const begun: string[] = [];
    let letGo = (): void => {};
    await queue.consume({ concurrency: 5, routes: routesOf(definition) }, async ({ workflow }) => {
      begun.push(workflow);
      if (begun.length === 1) await new Promise<void>((resolve) => (letGo = resolve));
    });
    await queue.enqueue([{ ...some('long'), dispatch }]);
    await eventually(() => begun.length === 1);
    await queue.enqueue([{ ...some('next'), dispatch }]);
    const running = `${prefix}:jobs:limits:${some('a').tenant}\none:running`;
    const first = Number((await admin.zrange(running, '0', '-1', 'WITHSCORES'))[1]);
    await eventually(async () => Date.now() > first + limits.limitSlotTtlMs, RECOVERY);
    expect(begun).toEqual(['long']);
    letGo();
    await eventually(() => begun.length === 2, RECOVERY);
  });

  test('foreign and damaged jobs and wake-ups are dropped; those after them arrive', async () => {
    const queue = openQueue();
    const keys = `${prefix}:jobs:${definition}@1`;
    await queue.enqueue([some('a'), some('b'), some('c')]);
    await admin.hset(`${keys}:waiting-jobs`, `${some('a').lamport} a`, '["w"]');
    await admin.hset(`${keys}:waiting-jobs`, `${some('b').lamport} b`, 'no JSON {');
    const [wakeup] = await admin.lrange(`${keys}:wait`, 0, 0);
    await admin.hset(`${keys}:${wakeup}`, 'data', '[["w"],[1,2,3,4,5],null,{}]');
    await admin.lpush(`${keys}:wait`, 'no-such-job');
    await queue.enqueue([some('d')]);
    const got = await collect(queue);
    await untilTaken(queue, got, 'd');
    await untilTaken(queue, got, 'e');
    expect([...got].filter((workflow) => workflow !== 'c')).toEqual(['d', 'e']);
  });

  test('closing while the server is away ends, and prints nothing', async () => {
    const queue = openBullmqQueue({ url: server.address, prefix, limits: { closeWaitMs: 300 } });
    await collect(queue);
    await queue.enqueue([some('a')]);
    await server.kill();
    await queue.close();
    await server.startAgain();
  });

  test('hints: nothing throws while Redis is away, and subscriptions come back with it', async () => {
    const bus = openRedisHints({ url: server.address, prefix });
    const other = openRedisHints({ url: server.address, prefix });
    closers.push(async () => void (await Promise.all([bus.close(), other.close()])));
    const heard = new Set<number>();
    await other.subscribe('appended', (partitions) => {
      for (const each of partitions) heard.add(each);
    });
    const untilHeard = (number: number): Promise<unknown> =>
      eventually(() => {
        bus.publish('appended', partition(number));
        return heard.has(number);
      }, RECOVERY);
    await untilHeard(1);
    await server.kill();
    for (let number = 100; number < 200; number += 1) bus.publish('appended', partition(number));
    await server.startAgain();
    await untilHeard(2);
    await admin.call('CLIENT', 'KILL', 'SKIPME', 'yes', 'TYPE', 'pubsub');
    await untilHeard(3);
  });

  test('hints: a subscription made while Redis is away stands once it is back', async () => {
    await server.kill();
    const bus = openRedisHints({ url: server.address, prefix });
    closers.push(() => bus.close());
    const heard = new Set<number>();
    await bus.subscribe('applied', (partitions) => {
      for (const each of partitions) heard.add(each);
    });
    await server.startAgain();
    await eventually(() => {
      bus.publish('applied', partition(1));
      return heard.has(1);
    }, RECOVERY);
  });

  test('liveness: an absent or flushed Redis revokes nobody', async () => {
    const clock = new SimulatedClock();
    const liveness = openRedisLiveness({ url: server.address, prefix, clock });
    closers.push(() => liveness.close());
    const holder = holderId('h');
    const poll = async (ms: number) => {
      clock.jump(ms);
      return liveness.view({ markerAgeMs: 1_000 });
    };
    await liveness.beat(holder, [], 60_000);
    await poll(0);
    expect(await poll(1_000)).toMatchObject({ trusted: true, holders: new Map([[holder, new Map()]]) });

    await admin.flushall();
    expect(await poll(1_000)).toMatchObject({ trusted: false, holders: new Map() });
    expect((await poll(1_000)).trusted).toBe(true);

    await server.kill();
    expect(await liveness.beat(holder, [], 60_000)).toBe(false);
    await liveness.leave(holder);
    expect(await poll(10_000)).toMatchObject({ trusted: false, holders: new Map() });
    await server.startAgain();
    await eventually(() => liveness.beat(holder, [], 60_000), RECOVERY);
    expect((await poll(10_000)).trusted).toBe(false);
    expect((await poll(1_000)).trusted).toBe(true);
  });

  test('liveness: out of reach for a while with its data intact, nobody is revoked until all could beat again', async () => {
    const clock = new SimulatedClock();
    const liveness = openRedisLiveness({ url: server.address, prefix, clock });
    closers.push(() => liveness.close());
    const poll = async (ms: number) => {
      clock.jump(ms);
      return (await liveness.view({ markerAgeMs: 1_000 })).trusted;
    };
    await poll(0);
    expect(await poll(1_000)).toBe(true);
    await admin.client('PAUSE', 2_500, 'ALL');
    expect(await poll(100)).toBe(false);
    await eventually(() => liveness.beat(holderId('h'), [], 60_000), RECOVERY);
    expect(await poll(5_000)).toBe(false);
    expect(await poll(999)).toBe(false);
    expect(await poll(1)).toBe(true);
  });
}

interface Network {
  readonly address: string;
  /** From now on nothing passes on the existing connections; new ones work. */
  swallow(): void;
  close(): Promise<void>;
}

/** A relay to the server that can silently lose packets. */
async function openNetwork(address: string): Promise<Network> {
  const target = new URL(address);
  const standing = new Set<Socket>();
  const proxy = createServer((near) => {
    const far = connect({ host: target.hostname, port: Number(target.port) });
    near.pipe(far);
    far.pipe(near);
    for (const socket of [near, far]) {
      standing.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => near.destroy() && far.destroy());
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return {
    address: `redis://127.0.0.1:${port}`,
    swallow() {
      for (const socket of standing) socket.unpipe().pause();
    },
    async close() {
      for (const socket of standing) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

/** Connections to the server, this one included. */
async function connections(admin: Redis): Promise<number> {
  const list = (await admin.client('LIST')) as string;
  return list.trim().split('\n').length;
}
