/**
 * Failovers on real servers: a primary and its replica behind one name that turns from one to the other, while connections to the old one
 * stand. Nothing is restarted, and nobody's lease is revoked. And what can't carry Tidemark's sessions, a pooler of transactions or a Redis
 * cluster, is refused by name before anything is set in it.
 */

import { holderId } from '@tidemark/core';
import { configFromEnv, openCluster } from '@tidemark/host';
import type { RowStore } from '@tidemark/ports';
import { openBullmqQueue, openRedisHints, openRedisLiveness } from '@tidemark/queue-bullmq';
import { defineWorkflow, task } from '@tidemark/sdk';
import { openPostgresStore } from '@tidemark/store-postgres';
import { job, routesOf } from '@tidemark/testkit/contracts/job-queue-jobs';
import { eventually } from '@tidemark/testkit/eventually';
import type { NativeServer } from '@tidemark/testkit/servers';
import { freshRedisPrefix, freshTopicName } from '@tidemark/testkit/suites';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { z } from 'zod';
import {
  type Named,
  name,
  needed,
  sql,
  startNative,
  startPgBouncer,
  startPostgresPair,
  startRedisCluster,
} from './replicas.ts';

/** A process is healthy again within this, on a busy machine: it looks up the name at once, and its loops try again every second or so. */
const SECONDS = { timeoutMs: 30_000 };

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});
const later = <T extends { close(): unknown }>(opened: T): T => {
  closers.push(() => opened.close());
  return opened;
};

interface Member {
  readonly address: string;
  readonly admin: Redis;
}

/** Two servers, and a client of each; the second follows the first. */
const startRedisPair = async (): Promise<readonly [Member, Member]> => {
  const servers = [await startNative('redis'), await startNative('redis')];
  const pair = servers.map(({ address }) => ({ address, admin: new Redis(address) }));
  for (const server of servers) closers.push(() => server.stop());
  for (const { admin } of pair) closers.push(() => admin.disconnect());
  for (const { admin } of pair) await admin.config('SET', 'repl-diskless-sync-delay', '0');
  await pair[1]!.admin.replicaof('127.0.0.1', new URL(pair[0]!.address).port);
  await eventually(async () => (await pair[1]!.admin.info('replication')).includes('master_link_status:up'));
  return [pair[0]!, pair[1]!];
};

/** The name turns from the first to the second, and the first follows the second. */
const turnRedis = async (named: Named, [first, second]: readonly [Member, Member]): Promise<void> => {
  await second.admin.replicaof('NO', 'ONE');
  named.point(second.address);
  await first.admin.replicaof('127.0.0.1', new URL(second.address).port);
};

const database = (url: string, of: string): string => url.replace(/[^/]*$/, of);

describe('Postgres', () => {
  /** What only a primary does. */
  const write = (store: RowStore): Promise<unknown> => store.shareRanges('owner', 60_000);
  const writes = (store: RowStore): Promise<boolean> =>
    write(store).then(
      () => true,
      () => false,
    );

  test('a server that turns read-only loses its sessions, idle ones included; a standby gets none', async (context) => {
    const pair = await needed(context, startPostgresPair());
    closers.push(() => pair.stop());
    const { first, second } = pair;
    const named = later(await name(database(first.address, 'failed_over')));
    const store = later(openPostgresStore({ url: named.url, poolMax: 3 }));
    await store.ensure();
    // All three sessions are open, and two of them will lie idle.
    await Promise.all([1, 2, 3].map(() => write(store)));
    await second.caughtUp();

    // As a fence does it, whose sessions stay: nothing written there is safe.
    await sql(first.address, 'alter system set default_transaction_read_only = on', 'select pg_reload_conf()');
    await eventually(async () => !(await writes(store)), SECONDS);
    await expect(write(store)).rejects.toMatchObject({
      name: 'UnavailableError',
      code: 'store-unavailable',
      details: { sqlState: '25006' },
    });
    // The name still leads to the old one, which is a standby now: every new session is refused there as well.
    await sql(
      first.address,
      'set default_transaction_read_only = off',
      'alter system reset default_transaction_read_only',
    );
    await second.promote();
    await pair.demoteFirst();
    await expect(store.ready()).rejects.toMatchObject({ code: 'store-unavailable', message: /takes no writes/ });

    named.point(second.address);
    await eventually(() => writes(store), SECONDS);
    expect(await Promise.all([1, 2, 3, 4, 5, 6].map(() => writes(store)))).toEqual(Array(6).fill(true));
  });
});

describe('PgBouncer', () => {
  let postgres: Promise<NativeServer>;
  beforeAll(() => {
    postgres = startNative('postgres');
    postgres.catch(() => {}); // each test reports it
  });
  afterAll(() => postgres.then((server) => server.stop()).catch(() => {}));

  /** PgBouncer before that server. */
  const pooled = async (context: TestContext, ...settings: readonly string[]): Promise<string> => {
    const pooler = await needed(
      context,
      postgres.then((server) => startPgBouncer(server, ...settings)),
    );
    closers.push(() => pooler.stop());
    return pooler.url;
  };

  /** Two connections that ask in turn would each meet their own server for ever. */
  const TWO_BY_TURNS = ['pool_mode = transaction', 'server_round_robin = 1', 'default_pool_size = 2'] as const;

  const refused = { name: 'ConfigError', code: 'store-pooled', message: /PgBouncer.*pool_mode/s };

  test.for([
    ['transactions', ['pool_mode = transaction']],
    ['transactions, servers by turns', ['pool_mode = transaction', 'server_round_robin = 1', 'min_pool_size = 3']],
    ['transactions, two servers by turns', TWO_BY_TURNS],
    ['statements', ['pool_mode = statement']],
  ] as const)(
    'that pools %s is refused by name, and no setting stays in its sessions',
    async ([, settings], context) => {
      const url = database(await pooled(context, ...settings), 'postgres');
      // Others have made it open several sessions.
      await Promise.all([1, 2, 3].map(() => sql(url, 'select pg_sleep(0.1)')));
      const store = later(openPostgresStore({ url }));
      await expect(store.ensure()).rejects.toMatchObject(refused);
      await expect(store.ready()).rejects.toMatchObject(refused);
      const seen = await Promise.all(
        [1, 2, 3, 4].map(() =>
          sql(url, "select current_setting('synchronous_commit') || ' ' || current_setting('enable_seqscan') as set"),
        ),
      );
      expect(seen.flat()).toEqual(Array(4).fill({ set: 'on on' }));
    },
  );

  test('that pools sessions is used, and a plain server', async (context) => {
    const pooler = await pooled(context, 'pool_mode = session', 'default_pool_size = 6');
    const { address: plain } = await postgres;
    await sql(plain, 'create database by_sessions');
    for (const address of [pooler, plain]) {
      const store = later(openPostgresStore({ url: database(address, 'by_sessions') }));
      await store.ensure();
      await Promise.all([1, 2, 3, 4, 5].map(() => store.shareRanges('owner', 60_000)));
      await store.close();
    }
    const url = database(pooler, 'by_sessions');
    const seen = await Promise.all(
      [1, 2, 3].map(() => sql(url, "select current_setting('synchronous_commit') as set")),
    );
    expect(seen.flat()).toEqual(Array(3).fill({ set: 'on' }));
  });
});

describe('Redis', () => {
  test('a replica where the primary was: jobs, hints and beats find the new one, and no lease is revoked', async (context) => {
    const pair = await needed(context, startRedisPair());
    const [first] = pair;
    const named = later(await name(first.address));
    const prefix = freshRedisPrefix();
    const options = { url: named.url, prefix };
    // A wake-up that is lost on the way costs a consumer one wait.
    const queue = later(openBullmqQueue({ ...options, limits: { idleBlockMs: 500, silenceMs: 2_000 } }));
    const bus = later(openRedisHints(options));
    // A worker's and a coordinator's.
    const [works, watches] = [later(openRedisLiveness(options)), later(openRedisLiveness(options))];
    const holder = holderId('h');
    const taken = new Set<string>();
    const heard = new Set<number>();
    await queue.consume({ concurrency: 4, routes: routesOf('d') }, async ({ workflow }) => void taken.add(workflow));
    await bus.subscribe('appended', (partitions) => partitions.forEach((each) => void heard.add(each)));
    const beats = (): Promise<boolean> => works.beat(holder, [], 3_000);
    let revoked = 0;
    /** What a coordinator does with a view: whom it does not see loses its leases, where the view can be trusted. */
    const trusts = async (): Promise<boolean> => {
      const { trusted, holders } = await watches.view({ markerAgeMs: 1_500 });
      if (trusted && !holders.has(holder)) revoked += 1;
      return trusted;
    };
    const round = async (workflow: string, partition: number): Promise<void> => {
      await eventually(async () => {
        bus.publish('appended', partition as never);
        await Promise.all([beats(), queue.enqueue([job(workflow, { definition: 'd' })]).catch(() => {})]);
        return (await trusts()) && taken.has(workflow) && heard.has(partition);
      }, SECONDS);
    };
    await round('before', 1);

    await turnRedis(named, pair);
    await round('after', 2);
    expect(revoked).toBe(0);
    // Nobody publishes to the old primary, or hears of others only what it repeats.
    await eventually(
      async () => !/cmd=(evalsha|publish|subscribe|bzpopmin)/.test(String(await first.admin.client('LIST'))),
    );
  });

  test('with cluster-enabled is refused by name: jobs, beats and views', async (context) => {
    const cluster = await needed(context, startRedisCluster());
    closers.push(() => cluster.stop());
    const options = { url: cluster.url, prefix: freshRedisPrefix() };
    const queue = later(openBullmqQueue(options));
    const liveness = later(openRedisLiveness(options));
    const refused = { name: 'ConfigError', code: 'redis-cluster', message: /cluster-enabled/ };
    const consumed = queue.consume({ concurrency: 1, routes: routesOf('d') }, async () => {});
    await expect(consumed).rejects.toMatchObject(refused);
    await expect(queue.enqueue([job('w', { definition: 'd' })])).rejects.toMatchObject(refused);
    await expect(liveness.beat(holderId('h'), [], 1_000)).rejects.toMatchObject(refused);
    await expect(liveness.watch(() => {})).rejects.toMatchObject(refused);
  });
});

describe('a cluster', () => {
  const calls: string[] = [];
  const gate = Promise.withResolvers<void>();
  const slow = defineWorkflow({
    name: 'slow',
    version: 1,
    input: z.object({}),
    belief: z.object({}),
    output: z.object({ ok: z.boolean() }),
    tasks: { first: z.object({}), last: z.object({}) },
    flow: { first: ['last'], last: [] },
    begin: () => ({ belief: {}, next: [task('first', {})] }),
    steps: {
      async first() {
        calls.push('first');
        await gate.promise;
        return { next: [task('last', {})] };
      },
      last() {
        calls.push('last');
        return { done: { ok: true } };
      },
    },
  });

  test('works on while Postgres and Redis fail over, and does no step twice', async (context) => {
    const kafka = await needed(context, startNative('kafka'));
    closers.push(() => kafka.stop());
    const postgres = await needed(context, startPostgresPair());
    closers.push(() => postgres.stop());
    const redis = await needed(context, startRedisPair());
    const names = [later(await name(database(postgres.first.address, 'tide'))), later(await name(redis[0].address))];
    const config = configFromEnv({
      TIDEMARK_KAFKA_BROKERS: kafka.address,
      TIDEMARK_POSTGRES_URL: names[0]!.url,
      TIDEMARK_REDIS_URL: names[1]!.url,
      TIDEMARK_TOPIC: freshTopicName('failover'),
      TIDEMARK_PARTITIONS: '4',
      TIDEMARK_ENCRYPTION: 'off',
      TIDEMARK_PRESENCE_HOST: '127.0.0.1',
    });
    const coordinator = later(await openCluster(config));
    const worker = later(await openCluster(config));
    await coordinator.startCoordinator({ onError: () => {} });
    await worker.startWorker({ definitions: [slow], concurrency: 4, onError: () => {} });
    const before = await coordinator.client.start(slow, {}, { id: 'before' });
    await eventually(() => calls.length === 1);
    // What a synchronous replica has: placements are known there.
    await postgres.second.caughtUp();

    await postgres.first.kill();
    await postgres.second.promote();
    names[0]!.point(postgres.second.address);
    await turnRedis(names[1]!, redis);
    const after = await eventually(
      () => coordinator.client.start(slow, {}, { id: 'after' }).catch(() => undefined),
      SECONDS,
    );
    gate.resolve();
    expect(await Promise.all([before.result(), after.result()])).toEqual([{ ok: true }, { ok: true }]);
    expect(calls.toSorted()).toEqual(['first', 'first', 'last', 'last']);
  }, 300_000);
});
