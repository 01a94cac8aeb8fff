/** The contracts of KeyTopic and KeyStore on Kafka, and what only this adapter promises: its settings, answers in doubt, compaction. */

import { ProjectedKeyStore } from '@tidemark/runtime';
import { keyStoreContract, listed, storedKey } from '@tidemark/testkit/contracts/key-store';
import { keyTopicContract, readKeys, settled } from '@tidemark/testkit/contracts/key-topic';
import { MemoryKeyIndex } from '@tidemark/testkit/contracts/memory-keys';
import { eventually } from '@tidemark/testkit/eventually';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import type { Admin } from 'kafkajs';
import { describe, expect, test } from 'vitest';
import { openKafkaKeyTopic } from './index.ts';
import { ConfigResourceTypes, Kafka, logLevel } from './kafkajs.ts';
import { startLossyProxy } from './lossy-proxy-fixture.ts';

describeServers('keys on Kafka', ['kafka'], (servers) => {
  const kafka = new Kafka({ brokers: [servers.kafka], logLevel: logLevel.NOTHING });
  const open = (topic: string, more: Partial<Parameters<typeof openKafkaKeyTopic>[0]> = {}) =>
    openKafkaKeyTopic({ brokers: [servers.kafka], topic, ...more });

  async function administer<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
    const admin = kafka.admin();
    await admin.connect();
    try {
      return await work(admin);
    } finally {
      await admin.disconnect();
    }
  }
  const remove = (topic: string) => administer((admin) => admin.deleteTopics({ topics: [topic] }));
  const settingsOf = (topic: string): Promise<Record<string, string>> =>
    administer(async (admin) => {
      const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic }];
      const described = await admin.describeConfigs({ includeSynonyms: false, resources });
      const entries = described.resources[0]!.configEntries;
      return Object.fromEntries(entries.map(({ configName, configValue }) => [configName, configValue]));
    });
  const set = (topic: string, settings: Record<string, string>): Promise<unknown> =>
    administer((admin) => {
      const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
      const resources = [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }];
      return admin.alterConfigs({ validateOnly: false, resources });
    });

  for (const partitions of [1, 3]) {
    keyTopicContract(`kafka, partitions: ${partitions}`, async () => {
      const name = freshTopicName('keys');
      const topic = await open(name, { partitions });
      return {
        topic,
        again: () => open(name),
        async close() {
          await topic.close();
          await remove(name);
        },
      };
    });
  }

  keyStoreContract('a topic of kafka under an index in memory', async () => {
    const name = freshTopicName('keys');
    const index = new MemoryKeyIndex();
    const another = async () => new ProjectedKeyStore(await open(name), index);
    const store = await another();
    return {
      store,
      again: another,
      async close() {
        await store.close();
        await remove(name);
      },
    };
  });

  describe('the topic', () => {
    test('is created compacted, and old bytes are cleared within a bounded time', async () => {
      const name = freshTopicName('keys');
      const topics = await Promise.all([open(name), open(name)]);
      expect(await settingsOf(name)).toMatchObject({
        'cleanup.policy': 'compact',
        'max.compaction.lag.ms': '3600000',
        'unclean.leader.election.enable': 'false',
      });
      await Promise.all(topics.map((topic) => topic.close()));
    });

    test('in which a replica may lead that lacks keys is refused', async () => {
      const topic = freshTopicName('keys');
      const configEntries = Object.entries({
        'cleanup.policy': 'compact',
        'unclean.leader.election.enable': 'true',
      }).map(([name, value]) => ({ name, value }));
      await administer((admin) => admin.createTopics({ topics: [{ topic, numPartitions: 1, configEntries }] }));
      await expect(open(topic)).rejects.toMatchObject({
        name: 'ConfigError',
        code: 'log-topic-unsafe',
        details: { misfits: [{ setting: 'unclean.leader.election.enable', wanted: 'false' }] },
      });
    });

    test('of one replica is warned of', async () => {
      const warned: string[] = [];
      const onWarning = (code: string, message: string): unknown => warned.push(`${code}: ${message}`);
      await (await open(freshTopicName('keys'), { replicationFactor: 1, onWarning })).close();
      expect(warned).toEqual([expect.stringMatching(/^log-one-replica: .*loses the keys.*min\.insync\.replicas=2/)]);
    });

    test.each(['delete', 'compact,delete'])('that has cleanup.policy=%s is refused', async (policy) => {
      const topic = freshTopicName('keys');
      const configEntries = [{ name: 'cleanup.policy', value: policy }];
      await administer((admin) => admin.createTopics({ topics: [{ topic, numPartitions: 1, configEntries }] }));
      await expect(open(topic)).rejects.toMatchObject({
        name: 'ConfigError',
        code: 'log-topic-unsafe',
        details: { misfits: [{ setting: 'cleanup.policy', wanted: 'compact' }] },
      });
    });

    test('that somebody else made compacted is taken; it is said that destroyed keys stay for long', async () => {
      const name = freshTopicName('keys');
      const configEntries = [{ name: 'cleanup.policy', value: 'compact' }];
      await administer((admin) => admin.createTopics({ topics: [{ topic: name, numPartitions: 3, configEntries }] }));
      const warned: string[] = [];
      await (await open(name, { onWarning: (code, message) => warned.push(`${code}: ${message}`) })).close();
      expect(warned).toContainEqual(
        expect.stringMatching(/^log-topic-lax: .*max\.compaction\.lag\.ms=9223372036854775807 \(wanted: 3600000\)/),
      );
    });

    test('in which someone else writes is not taken for ours', async () => {
      const name = freshTopicName('keys');
      const topic = await open(name);
      const producer = kafka.producer();
      await producer.connect();
      await topic.append([storedKey()]);
      await producer.send({ topic: name, messages: [{ key: 'note', value: '{"secret":"hunter2"}' }] });
      await producer.disconnect();
      const error = (await readKeys(topic).catch((thrown: unknown) => thrown)) as Error;
      expect(error).toMatchObject({ name: 'CorruptError', code: 'log-damaged', details: { offset: 1 } });
      expect(String(error.stack)).not.toContain('hunter2');
      await topic.close();
    });

    test('that ends before the index stands was replaced, which is said', async () => {
      const name = freshTopicName('keys');
      const topic = await open(name);
      await topic.append([storedKey(), storedKey()]);
      const { next } = await readKeys(topic);
      const past = new Map([...next].map(([partition, offset]) => [partition, (offset + 5) as typeof offset]));
      await expect(readKeys(topic, past)).rejects.toMatchObject({ name: 'CorruptError', code: 'log-past-end' });
      await topic.close();
    });
  });

  describe('in doubt', () => {
    test('a swallowed answer: the same again, which changes nothing', async () => {
      const proxy = await startLossyProxy(servers.kafka);
      const limits = { appendTimeoutMs: 200, appendGraceMs: 100 };
      const topic = await openKafkaKeyTopic({ brokers: [proxy.address], topic: freshTopicName('keys'), limits });
      const [first, second] = [storedKey(), storedKey()];
      await topic.append([first]);
      proxy.swallowAnswers(1);
      await topic.append([second]);
      proxy.swallowAnswers(1);
      await topic.destroy([first.id]);
      expect(proxy.swallowedCount).toBe(2);
      const { changes } = await readKeys(topic);
      // The control: it was sent twice.
      expect(changes.filter((change) => change.kind === 'put' && change.key.id === second.id)).toHaveLength(2);
      expect(settled(changes)).toEqual({ keys: [second], gone: [first.id] });
      await topic.close();
      await proxy.close();
    });

    test('without any answer it is given up in time, and nobody knows', async () => {
      const proxy = await startLossyProxy(servers.kafka);
      const limits = { appendTimeoutMs: 100, appendGraceMs: 50, closeTimeoutMs: 50 };
      const options = { brokers: [proxy.address], topic: freshTopicName('keys'), limits, appendTimeoutMs: 400 };
      const topic = await openKafkaKeyTopic(options);
      await topic.append([storedKey()]);
      proxy.swallowAnswers(1_000);
      await expect(topic.append([storedKey()])).rejects.toMatchObject({
        name: 'UnavailableError',
        code: 'keys-unavailable',
        message: expect.stringContaining('whether it is stored is not known'),
      });
      proxy.swallowAnswers(0);
      const key = storedKey();
      await topic.append([key]);
      expect(settled((await readKeys(topic)).changes).keys).toContainEqual(key);
      await topic.close();
      await proxy.close();
    });
  });

  test('K1: after compaction what was destroyed is not in the topic, and stays destroyed, whoever looks from where', async () => {
    const name = freshTopicName('keys');
    const topic = await open(name);
    const index = new MemoryKeyIndex();
    const store = new ProjectedKeyStore(topic, index);
    const keys = Array.from({ length: 12 }, () => storedKey());
    await store.put(keys);
    const away = await readKeys(topic);
    await store.put(keys.slice(0, 6).map((key) => ({ ...key, wrapped: `anew ${key.wrapped}` })));
    await store.destroy(keys.slice(4, 8).map(({ id }) => id));
    const before = await listed(store);
    await set(name, {
      'cleanup.policy': 'compact',
      'min.cleanable.dirty.ratio': '0.0',
      'max.compaction.lag.ms': '1',
      'delete.retention.ms': '0',
      'segment.ms': '100',
    });
    // A new segment begins with a record, and the records before it are compacted.
    const bytesGone = async (): Promise<boolean> => {
      await topic.append([storedKey({ tenant: keys[0]!.tenant, user: 'filler' })]);
      const { changes } = await readKeys(topic);
      const empties = changes.filter(({ kind }) => kind === 'destroyed');
      const puts = changes.flatMap((change) => (change.kind === 'put' && change.key.user === null ? [change.key] : []));
      return puts.length === 8 && empties.length === 4;
    };
    await eventually(bytesGone, { timeoutMs: 60_000, what: 'compaction' });
    const isOwn = ({ user }: { readonly user: string | null }): boolean => user === null;
    // An index that lags behind all of it, at an offset that no longer exists.
    const { keys: found, gone } = settled((await readKeys(topic, away.next)).changes);
    expect(gone).toEqual(keys.slice(4, 8).map(({ id }) => id));
    expect(found.filter(isOwn).map(({ id }) => id)).toEqual(keys.slice(0, 4).map(({ id }) => id));
    index.lose();
    expect((await listed(store)).filter(isOwn)).toEqual(before);
    // A process that was rewrapping it all the while.
    await store.put([keys[5]!]);
    index.lose();
    expect((await listed(store)).filter(isOwn)).toEqual(before);
    await store.close();
    await remove(name);
  });
});

test('without a broker it says so in time', async () => {
  const limits = { openTimeoutMs: 300, connectTimeoutMs: 200, readTimeoutMs: 200 };
  await expect(openKafkaKeyTopic({ brokers: ['127.0.0.1:1'], topic: 't', limits })).rejects.toMatchObject({
    name: 'UnavailableError',
    code: 'log-unavailable',
  });
});
