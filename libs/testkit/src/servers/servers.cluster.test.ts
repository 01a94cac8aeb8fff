/** Owns the tests of the servers themselves: what a suite gets, that a crash keeps durable data, and that nothing outlives its starter. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Kafka, logLevel } from 'kafkajs';
import { Client } from 'pg';
import { describe, expect, test, vi } from 'vitest';
import { assertListening } from './free-port.ts';
import { pingKafka } from './kafka.ts';
import { pingPostgres } from './postgres.ts';
import { pingRedis } from './redis.ts';
import type { NativeServer, ServerKind } from './server.ts';
import { describeServers, freshTopicName, ownServer } from './suites.ts';

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

describeServers('the servers of a run', ['kafka', 'redis', 'postgres'], (servers) => {
  test('all answer', async () => {
    await Promise.all([pingKafka(servers.kafka), pingRedis(servers.redis), pingPostgres(servers.postgres)]);
  });

  test('each fresh database is another and empty', async () => {
    const urls = await Promise.all([servers.freshDatabase(), servers.freshDatabase()]);
    expect(new Set(urls).size).toBe(2);
    await query(urls[0], 'create table t (a int)');
    expect(await query(urls[1], "select tablename from pg_tables where schemaname = 'public'")).toEqual([]);
  });

  test('a topic is never created by accident', async () => {
    const kafka = new Kafka({ brokers: [servers.kafka], logLevel: logLevel.NOTHING, retry: { retries: 0 } });
    const admin = kafka.admin();
    await admin.connect();
    const topic = freshTopicName();
    await expect(admin.fetchTopicMetadata({ topics: [topic] })).rejects.toThrow(/does not host this topic/);
    expect(await admin.listTopics()).not.toContain(topic);
    await admin.disconnect();
  });
});

describeServers('a native server that crashes', ['kafka', 'redis', 'postgres'], () => {
  test('Redis comes back empty on the same port', async (context) => {
    const server = await ownServer(context, 'redis');
    await server.kill();
    await expect(pingRedis(server.address)).rejects.toThrow();
    await server.startAgain();
    await pingRedis(server.address);
    await server.stop();
    expect(existsSync(server.folder)).toBe(false);
  });

  test('Postgres comes back with what was committed', async (context) => {
    const server = await ownServer(context, 'postgres');
    await query(server.address, 'create table t as select 7 as a');
    await server.kill();
    await server.startAgain();
    expect(await query(server.address, 'select a from t')).toEqual([{ a: 7 }]);
    await server.stop();
    expect(existsSync(server.folder)).toBe(false);
  });

  test('Kafka comes back with its topics', async (context) => {
    const server = await ownServer(context, 'kafka');
    const topic = freshTopicName();
    const admin = new Kafka({ brokers: [server.address], logLevel: logLevel.NOTHING }).admin();
    await admin.createTopics({ topics: [{ topic, numPartitions: 3 }] });
    await server.kill();
    await server.startAgain();
    expect(await admin.listTopics()).toContain(topic);
    await admin.disconnect();
    await server.stop();
    expect(existsSync(server.folder)).toBe(false);
  });
});

/** A process that starts a server, prints its address, and then waits (or throws, when told to). */
function starterOf(kind: ServerKind): ChildProcess {
  const servers = JSON.stringify(new URL('./index.ts', import.meta.url).href);
  const program = `
    const { startServer } = await import(${servers});
    const server = await startServer('${kind}', { sources: ['native'] });
    console.log(JSON.stringify(server));
    process.stdin.once('data', () => { throw new Error('uncaught'); });`;
  const stdio = ['pipe', 'pipe', 'ignore'] as const;
  return spawn(process.execPath, ['--input-type=module-typescript', '-e', program], { stdio: [...stdio] });
}

async function firstLine(child: ChildProcess): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  if (child.stdout !== null) createInterface({ input: child.stdout }).once('line', resolve);
  child.once('exit', (code) => reject(new Error(`the starter ended with ${code}`)));
  return await promise;
}

const endings: Readonly<Record<string, (starter: ChildProcess) => unknown>> = {
  'kill -9': (starter) => starter.kill('SIGKILL'),
  SIGTERM: (starter) => starter.kill('SIGTERM'),
  'Ctrl-C': (starter) => starter.kill('SIGINT'),
  'an uncaught exception': (starter) => starter.stdin?.write('throw\n'),
};

async function expectGone({ address, folder }: NativeServer): Promise<void> {
  const port = Number(/:(\d+)(\/|$)/.exec(address)?.[1]);
  await vi.waitFor(
    async () => {
      expect(existsSync(folder)).toBe(false);
      await expect(assertListening('127.0.0.1', port)).rejects.toThrow();
    },
    { timeout: 60_000, interval: 50 },
  );
}

describeServers('a server whose starter ends without stopping it', ['kafka', 'redis', 'postgres'], () => {
  describe.each(Object.keys(endings))('by %s', (ending) => {
    test.each(ending === 'kill -9' ? (['redis', 'postgres', 'kafka'] as const) : (['redis'] as const))(
      '%s is ended and its folder removed',
      async (kind) => {
        const starter = starterOf(kind);
        const server = JSON.parse(await firstLine(starter)) as NativeServer;
        expect(existsSync(server.folder)).toBe(true);
        endings[ending]?.(starter);
        await expectGone(server);
      },
      60_000,
    );
  });
});
