/**
 * Forgetting, byte by byte, on real servers: markers are put into every place that what a workflow says can get to, a workflow and a user are
 * forgotten, and what Kafka, Postgres, Redis and the object store have is searched. The control is that the words are found before.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { DEFAULT_TENANT, workflowId } from '@tidemark/core';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import { forget } from '@tidemark/runtime';
import { eventually } from '@tidemark/testkit/eventually';
import { filesWithMarkers, holdsMark, type Mark } from '@tidemark/testkit/marked-bytes';
import { marker, PLACES, runMarked } from '@tidemark/testkit/marked-workflow';
import { type ServiceProcess, startService } from '@tidemark/testkit/processes';
import { describeServers, freshTopicName, ownServer } from '@tidemark/testkit/suites';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterEach, expect, it } from 'vitest';
import { borrowCredentials, makeArchive } from '../bench/archive-bucket.ts';

const TENANT = DEFAULT_TENANT;
const TIMEOUT_MS = 300_000;

// It needs servers whose files it can read: each is its own.
describeServers('forgetting on a cluster', [], () => {
  const services: ServiceProcess[] = [];
  let host: Host | undefined;
  let folder = '';
  afterEach(async () => {
    await host?.close();
    await Promise.all(services.splice(0).map((service) => service.kill()));
    await rm(folder, { recursive: true, force: true });
  });

  it('leaves nothing of a workflow, nor of a user, in any server', { timeout: TIMEOUT_MS }, async (context) => {
    const kafka = await ownServer(context, 'kafka');
    const redis = await ownServer(context, 'redis');
    const postgres = await ownServer(context, 'postgres');
    const s3 = await ownServer(context, 's3');
    folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-forgetting-'));
    const topic = freshTopicName('forgetting');
    const archive = await makeArchive(s3, topic.toLowerCase().replaceAll(/[^a-z0-9-]/g, '-'));
    context.onTestFinished(borrowCredentials(archive));
    const keys = (name: string): string => pathToFileURL(path.join(folder, `${name}.json`)).href;
    const env = {
      ...archive,
      TIDEMARK_KAFKA_BROKERS: kafka.address,
      TIDEMARK_REDIS_URL: redis.address,
      TIDEMARK_POSTGRES_URL: Object.assign(new URL(postgres.address), { pathname: '/forgetting' }).href,
      TIDEMARK_TOPIC: topic,
      TIDEMARK_PARTITIONS: '4',
      TIDEMARK_KEYS_URL: keys('keys'),
      TIDEMARK_SECRETS_KEYS_URL: keys('secrets'),
      TIDEMARK_WORKFLOWS: './libs/testkit/src/marked-workflow.ts',
    };
    const { client, ports, keys: dataKeys, compactor } = await openHost(env);
    services.push(await startService('coordinator', env), await startService('worker', env));
    await eventually(() => ports.store.ready());
    await runMarked(client, { who: 'run', id: 'run', user: 'eve', about: 'user:eve' });
    await runMarked(client, { who: 'hers', id: 'hers', user: 'ana', about: 'pipeline:p' });
    await runMarked(client, { who: 'kept', id: 'kept', user: 'bob', about: 'user:bob' });
    const told = marker('hers', 'told');
    await client.memory.remember(
      [{ subject: 'user:ana', kind: 'fact', key: 'k', value: { text: told }, words: told, source: 'test' }],
      { tenant: TENANT },
    );
    await eventually(async () => (await compactor()).segmentCount > 0, { what: 'an archive' });

    const database = new pg.Client({ connectionString: env.TIDEMARK_POSTGRES_URL });
    await database.connect();
    context.onTestFinished(() => database.end());
    const dump = new Redis(redis.address);
    context.onTestFinished(() => dump.disconnect());
    await dump.config('SET', 'rdbcompression', 'no');
    /** Where any mark is: by server, the files of it. Postgres' write-ahead log goes round by itself (docs/encryption.md). */
    const held = async (marks: readonly Mark[]): Promise<readonly string[]> => {
      await database.query('checkpoint');
      const found: string[] = [];
      for (const [name, at] of Object.entries({ kafka, postgres, s3 })) {
        for (const files of (await filesWithMarkers(at.folder, marks)).values()) {
          found.push(...files.map((file) => `${name}: ${file}`));
        }
      }
      for (const key of await dump.keysBuffer('*')) {
        const value = await dump.dumpBuffer(key);
        if (value !== null && marks.some((mark) => holdsMark(value, mark))) found.push(`redis: ${key}`);
      }
      return [...new Set(found)].filter((file) => !file.includes('/pg_wal/')).sort();
    };

    const everyKey = new Map<string, string>();
    for await (const { id, wrapped } of dataKeys!.store.list({})) everyKey.set(id, wrapped);
    const marks = [...['run', 'hers'].flatMap((who) => PLACES.map((place) => marker(who, place))), told];
    const before = await held(marks);
    expect(before.length).toBeGreaterThan(0);
    for (const file of before) expect(file).toMatch(/^postgres: .*base\//);

    const certificates = [];
    for (const of of [{ workflow: workflowId('run') }, { workflow: workflowId('run-falls') }, { user: 'ana' }]) {
      certificates.push(
        await forget(
          {
            store: ports.store,
            keys: dataKeys!.data,
            keyStore: dataKeys!.store,
            memory: client.memory,
            now: () => 'now',
          },
          { tenant: TENANT, by: 'carl', why: 'asked', ...of },
        ),
      );
    }
    expect(certificates.map(({ leftIn }) => leftIn)).toEqual([[], [], []]);
    expect(await held(marks)).toEqual([]);
    expect(await held([marker('kept', 'words')])).not.toEqual([]);
    // Wrapped keys stay in Kafka's topic of keys until that is compacted, and nowhere else.
    const wrapped = certificates.flatMap((certificate) => certificate.keys.map((id) => everyKey.get(id)!));
    expect(wrapped.length).toBeGreaterThan(0);
    for (const file of await held(wrapped)) expect(file).toMatch(new RegExp(`^kafka: .*${topic}\\.keys-`));
  });

  async function openHost(env: Record<string, string>) {
    const opened = await openCluster(configFromEnv(env));
    host = opened;
    const compactor = () =>
      opened
        .compactor({ policy: { hotMs: 1, segmentMinBytes: 1 }, paceBytesPerSecond: Number.POSITIVE_INFINITY })
        .pass();
    return { client: opened.client, ports: opened.ports, keys: opened.keys, compactor };
  }
});
