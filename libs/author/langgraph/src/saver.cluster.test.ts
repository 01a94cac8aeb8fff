/** The framework's suites for checkpointers on Kafka, Redis and Postgres, encrypted; and that a deleted thread can be read by nobody. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { emptyCheckpoint } from '@langchain/langgraph-checkpoint';
import { DEFAULT_TENANT, type Sequence, workflowId } from '@tidemark/core';
import { configFromEnv, type Host, openCluster } from '@tidemark/host';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TidemarkSaver } from './saver.ts';
import { checkpointerSuites } from './suite-fixture.ts';

describeServers('on the cluster', ['kafka', 'redis', 'postgres'], (servers) => {
  let host: Host;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-saver-'));
    const config = configFromEnv({
      TIDEMARK_KAFKA_BROKERS: servers.kafka,
      TIDEMARK_REDIS_URL: servers.redis,
      TIDEMARK_POSTGRES_URL: await servers.freshDatabase(),
      TIDEMARK_TOPIC: freshTopicName('saver'),
      TIDEMARK_PARTITIONS: '8',
      TIDEMARK_KEYS_URL: pathToFileURL(path.join(folder, 'keys.json')).href,
    });
    host = await openCluster(config);
    await host.startCoordinator();
  });
  afterAll(async () => {
    await host.close();
    await rm(folder, { recursive: true });
  });

  checkpointerSuites('cluster', () => host);

  it('has the keys of a deleted thread destroyed, and begins anew under its name', async () => {
    const saver = new TidemarkSaver(host, { name: 'deleting' });
    const config = { configurable: { thread_id: 't' } };
    const meta = { source: 'loop', step: 0, parents: {} } as const;
    const checkpoint = { ...emptyCheckpoint(), channel_values: { x: 'pearl' }, channel_versions: { x: 1 } };
    const stored = async (workflow: string) => {
      const rows = await host.ports.store.checkpoints(workflowId(workflow), { from: 1 as Sequence, limit: 10 });
      return rows.map(({ payload }) => payload).join();
    };
    await saver.put(config, checkpoint, meta, { x: 1 });
    await expect.poll(() => stored('deleting:t')).toContain('pearl');
    await saver.deleteThread('t');
    await saver.deleteThread('t');
    expect(await stored('deleting:t')).not.toContain('pearl');
    expect(await saver.getTuple(config)).toBeUndefined();
    await saver.put(config, { ...checkpoint, channel_values: { x: 'new' } }, meta, { x: 1 });
    expect((await saver.getTuple(config))?.checkpoint.channel_values).toEqual({ x: 'new' });
    const certificates = await host.client.memory.certificates(DEFAULT_TENANT);
    const own = certificates.filter((each) => JSON.stringify(each).includes('workflow:deleting:t'));
    expect(own).toMatchObject([{ state: 'destroyed' }]);
  });
});
