/** Owns the tests of opening: what is created, and the error when a broker is absent, wrong, or its topic would lose records. */

import { type AddressInfo, createServer, type Server } from 'node:net';
import { offset, partition } from '@tidemark/core';
import { readAll, record, texts } from '@tidemark/testkit/contracts/event-log-under-test';
import { eventually } from '@tidemark/testkit/eventually';
import { describeServers, freshTopicName } from '@tidemark/testkit/suites';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openKafkaLog } from './index.ts';
import { ConfigResourceTypes, Kafka, logLevel } from './kafkajs.ts';

const limits = { openTimeoutMs: 300, connectTimeoutMs: 200, readTimeoutMs: 200 };

describe('opening without a broker', () => {
  let mute: Server;
  beforeAll(async () => {
    mute = createServer((socket) =>
      socket.on('error', () => {}).on('data', () => socket.write('-ERR no such command\r\n')),
    );
    await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  });
  afterAll(() => new Promise((resolve) => mute.close(resolve)));

  test('nobody listens: a clear error, after bounded tries', async () => {
    // Port 1 needs rights that nobody gives to a broker.
    const opening = openKafkaLog({ brokers: ['127.0.0.1:1', 'localhost:1'], topic: 't', limits });
    await expect(opening).rejects.toMatchObject({
      name: 'UnavailableError',
      code: 'log-unavailable',
      message: expect.stringContaining('127.0.0.1:1 ('),
      details: { addresses: ['127.0.0.1:1', 'localhost:1'] },
    });
  });

  test('another kind of server answers', async () => {
    const address = `127.0.0.1:${(mute.address() as AddressInfo).port}`;
    const opening = openKafkaLog({ brokers: [address], topic: 't', limits });
    await expect(opening).rejects.toMatchObject({
      name: 'UnavailableError',
      message: expect.stringContaining(address),
    });
  });

  test.each([[''], ['host'], ['host:0'], ['host:99999'], ['host:port'], ['http://host:9092'], ['a b:9092']])(
    'the address "%s" is wrong',
    async (address) => {
      const opening = openKafkaLog({ brokers: [address], topic: 't' });
      await expect(opening).rejects.toMatchObject({ name: 'ConfigError', code: 'log-address-invalid' });
    },
  );

  test('credentials in an address are not repeated', async () => {
    const error = await openKafkaLog({ brokers: ['kafka://ann:secret@host:9092'], topic: 't' }).catch(String);
    expect(error).toContain('***@host:9092');
    expect(error).not.toContain('secret');
  });

  test('no address at all', async () => {
    await expect(openKafkaLog({ brokers: [], topic: 't' })).rejects.toMatchObject({ code: 'log-address-invalid' });
  });
});

describeServers('opening the topic', ['kafka'], (servers) => {
  const kafka = new Kafka({ brokers: [servers.kafka], logLevel: logLevel.NOTHING });
  const open = (topic: string, partitions?: number) =>
    openKafkaLog({ brokers: [servers.kafka], topic, ...(partitions === undefined ? {} : { partitions }) });

  async function administer<T>(work: (admin: ReturnType<typeof kafka.admin>) => Promise<T>): Promise<T> {
    const admin = kafka.admin();
    await admin.connect();
    try {
      return await work(admin);
    } finally {
      await admin.disconnect();
    }
  }

  test('is created with settings that keep everything', async () => {
    const topic = freshTopicName('new');
    const log = await open(topic, 5);
    expect(await log.partitionCount()).toBe(5);
    expect(log.durability).toBe('process');
    const described = await administer((admin) =>
      admin.describeConfigs({ includeSynonyms: false, resources: [{ type: ConfigResourceTypes.TOPIC, name: topic }] }),
    );
    const settings = Object.fromEntries(
      described.resources[0]!.configEntries.map(({ configName, configValue }) => [configName, configValue]),
    );
    expect(settings).toMatchObject({ 'cleanup.policy': 'delete', 'retention.ms': '-1', 'retention.bytes': '-1' });
    await log.close();
  });

  test('is created once when several processes open it at the same time', async () => {
    const topic = freshTopicName('race');
    const logs = await Promise.all([7, 7, 7].map((partitions) => open(topic, partitions)));
    for (const [index, log] of logs.entries()) expect(await log.append(partition(3), [record('a')])).toBe(index);
    await Promise.all(logs.map((log) => log.close()));
  });

  test('one that is there keeps its number of partitions', async () => {
    const topic = freshTopicName('there');
    await (await open(topic, 3)).close();
    const log = await open(topic, 9);
    expect(await log.partitionCount()).toBe(3);
    await log.close();
  });

  test.each([
    ['retention.ms', '604800000'],
    ['cleanup.policy', 'compact'],
    ['retention.bytes', '1000000'],
    ['unclean.leader.election.enable', 'true'],
  ])('one that would lose records by %s=%s is refused', async (name, value) => {
    const topic = freshTopicName('unsafe');
    const configEntries = Object.entries({ 'retention.ms': '-1', [name]: value }).map(([key, set]) => ({
      name: key,
      value: set,
    }));
    await administer((admin) => admin.createTopics({ topics: [{ topic, numPartitions: 1, configEntries }] }));
    await expect(open(topic)).rejects.toMatchObject({
      name: 'ConfigError',
      code: 'log-topic-unsafe',
      details: { misfits: [{ setting: name, found: value }] },
      message: expect.stringContaining(`${name}=${value} (wanted: `),
    });
  });

  test('of one that somebody else made each wrong setting is named, and how to mend it; then it is taken as it is', async () => {
    const topic = freshTopicName('foreign');
    const wrong = {
      ...{ 'cleanup.policy': 'compact,delete', 'retention.ms': '1000', 'min.insync.replicas': '2' },
      ...{ 'max.message.bytes': '1000', 'segment.bytes': '1048576' },
    };
    const configEntries = Object.entries(wrong).map(([name, value]) => ({ name, value }));
    await administer((admin) => admin.createTopics({ topics: [{ topic, numPartitions: 3, configEntries }] }));
    const refusal = (await open(topic).catch((error: unknown) => error)) as Error;
    expect(refusal.message).toContain(
      'cleanup.policy=compact,delete (wanted: delete); retention.ms=1000 (wanted: -1); min.insync.replicas=2 (wanted: 1, since the topic has 1 replica(s): no append would be taken); max.message.bytes=1000 (wanted: 32768, or more: events would not fit).',
    );
    expect(refusal.message).not.toContain('segment.bytes');
    const added = /--add-config (\S+), or name another topic/.exec(refusal.message)![1]!;
    const mended = added.split(',').map((set) => ({ name: set.split('=')[0]!, value: set.split('=')[1]! }));
    await administer((admin) =>
      admin.alterConfigs({
        validateOnly: false,
        resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries: mended }],
      }),
    );
    // The control of what was refused: mended as it says, it is taken, with its own number of partitions.
    const log = await eventually(() => open(topic, 9));
    expect(await log.partitionCount()).toBe(3);
    expect(await log.append(partition(2), [record('a')])).toBe(0);
    await log.close();
  });

  test('one replica alone is warned of', async () => {
    const warned: string[] = [];
    const topic = freshTopicName('alone');
    const options = { brokers: [servers.kafka], topic, partitions: 1, replicationFactor: 1 };
    const log = await openKafkaLog({ ...options, onWarning: (code, message) => warned.push(`${code}: ${message}`) });
    await log.close();
    expect(warned).toEqual([expect.stringMatching(/^log-one-replica: .*min\.insync\.replicas=2/)]);
  });

  test('a name that Kafka does not take', async () => {
    await expect(open('no/such name')).rejects.toMatchObject({ name: 'ConfigError', code: 'log-topic-refused' });
  });

  test('more replicas than there are brokers', async () => {
    const opening = openKafkaLog({ brokers: [servers.kafka], topic: freshTopicName('replicas'), replicationFactor: 9 });
    await expect(opening).rejects.toMatchObject({ name: 'ConfigError', code: 'log-topic-refused' });
  });

  test('a topic whose limit was lowered meanwhile: what is too large is refused, and only that', async () => {
    const topic = freshTopicName('lowered');
    const log = await openKafkaLog({ brokers: [servers.kafka], topic, partitions: 2 });
    const configEntries = [{ name: 'max.message.bytes', value: '10000' }];
    await administer((admin) =>
      admin.alterConfigs({
        validateOnly: false,
        resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configEntries }],
      }),
    );
    // The broker takes its time to notice.
    const probe = () => log.append(partition(1), [record('x'.repeat(20_000))]);
    await eventually(() =>
      probe().then(
        () => false,
        () => true,
      ),
    );
    const sizes = [4_000, 4_000, 20_000, 4_000];
    const given = sizes.map((size) => log.append(partition(0), [record('x'.repeat(size))]));
    const other = log.append(partition(1), [record('other')]);
    const results = await Promise.allSettled(given);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect(results[2]).toMatchObject({ reason: { name: 'LimitError', code: 'append-too-large' } });
    const stored = texts(await readAll(log, partition(0)));
    expect(stored.every((text) => text.length === 4_000)).toBe(true);
    expect(texts((await log.read([{ partition: partition(1), from: offset(await other) }]))[0]!.records)).toEqual([
      'other',
    ]);
    await log.close();
  });

  test('a topic that takes less than our limits narrows them', async () => {
    const topic = freshTopicName('narrow');
    const configEntries = [
      { name: 'retention.ms', value: '-1' },
      { name: 'max.message.bytes', value: '40000' },
    ];
    await administer((admin) => admin.createTopics({ topics: [{ topic, numPartitions: 1, configEntries }] }));
    const log = await open(topic);
    expect(log.recordMaxBytes).toBe(30_000);
    const greatest = { value: new Uint8Array(30_000), type: 'T' };
    expect(await log.append(partition(0), [greatest])).toBe(0);
    await log.close();
  });
});
