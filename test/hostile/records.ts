/** Owns hostile records: what whoever may write to the topic could append, made from records that stand in it. */

import { zstdCompressSync } from 'node:zlib';
import { SeededRandom } from '@tidemark/testkit/simulation/random';
import { CompressionCodecs, CompressionTypes, Kafka, logLevel, Partitioners } from 'kafkajs';
import { BOMB_BYTES, RECORDS_BATCH_COUNT } from './limits.ts';

type Make = (random: SeededRandom, record: Buffer) => Buffer;

const headOf = (record: Buffer): Record<string, unknown> =>
  JSON.parse(record.toString('utf8', 0, record.indexOf(10))) as Record<string, unknown>;
const withHead = (head: unknown, payload: Buffer | string): Buffer =>
  Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), Buffer.from(payload)]);

const MAKES: readonly Make[] = [
  // As it stands: a duplicate.
  (_, record) => record,
  (random, record) => {
    const bytes = Buffer.from(record);
    for (let count = random.count(1, 6); count > 0; count--) bytes[random.int(bytes.length)] = random.int(256);
    return bytes;
  },
  (random, record) => record.subarray(0, random.int(record.length)),
  (random) => Buffer.from(Array.from({ length: random.count(0, 200) }, () => random.int(256))),
  // Nothing is sealed.
  (random, record) =>
    withHead(
      { ...headOf(record), v: 1, payload: 'json', ordinal: random.count(1, 20), epoch: random.count(1, 4) },
      '{"value":"forged"}',
    ),
  // Sealed with a key that nobody has, or with another's.
  (random, record) => {
    const bytes = Buffer.from(record);
    const from = bytes.indexOf(10) + 1;
    for (let at = from; at < Math.min(from + 20, bytes.length); at++) bytes[at] = random.int(256);
    return bytes;
  },
  (random, record) =>
    withHead(
      {
        ...headOf(record),
        type: random.pick(['Dreamt', 'RulesRaised', 'LeaseRevoked', 'WorkflowCompleted', '__proto__']),
      },
      'null',
    ),
  (random, record) => withHead({ ...headOf(record), v: random.pick([0, 2, 3, 99, 1e300, '1']) }, 'null'),
  (random, record) =>
    withHead(
      { ...headOf(record), control: random.pick<unknown>([null, [], {}, 'x', { task: '9.9' }, { tasks: [] }]) },
      'null',
    ),
  (random, record) =>
    withHead({ ...headOf(record), workflow: random.pick(['nobody', '', 'w'.repeat(2_000), '../x', '~']) }, 'null'),
  (random, record) =>
    Buffer.from(
      `${JSON.stringify({ ...headOf(record), more: '?' }).replace('"?"', `${'['.repeat(random.count(10, 3_000))}`)}\nnull`,
    ),
  (random, record) =>
    withHead(
      { ...headOf(record), lamport: random.pick([-1, 0, 1e15, 9e15]), atMs: random.pick([-1, 0, 4e12]) },
      'null',
    ),
  (random, record) =>
    withHead(
      { ...headOf(record), v: 1, payload: 'json' },
      `{"value":${random.chance(0.02) ? `[${'{},'.repeat(random.count(1_000, 250_000))}0]` : `${'['.repeat(random.count(10, 3_000))}`}}`,
    ),
];

/** Records of the topic that have the text in them; waits until there are as many. */
export async function sampleRecords(
  brokers: string,
  topic: string,
  count: number,
  text: string,
): Promise<readonly (readonly [partition: number, record: Buffer])[]> {
  const kafka = new Kafka({ brokers: [brokers], logLevel: logLevel.NOTHING });
  const consumer = kafka.consumer({ groupId: `hostile-${process.pid}` });
  const found: [number, Buffer][] = [];
  await consumer.connect();
  const { promise, resolve } = Promise.withResolvers<void>();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ partition, message }) => {
      if (message.value?.includes(text)) found.push([partition, message.value]);
      if (found.length >= count) resolve();
    },
  });
  await promise;
  await consumer.disconnect();
  return found;
}

/** Appends as many. Every partition that has records gets some, so that streams of others stand beside them. */
export async function appendHostile(
  brokers: string,
  topic: string,
  seed: string,
  count: number,
  samples: readonly (readonly [number, Buffer])[],
): Promise<void> {
  const random = new SeededRandom(`${seed}/records`);
  const producer = new Kafka({ brokers: [brokers], logLevel: logLevel.NOTHING }).producer({
    createPartitioner: Partitioners.DefaultPartitioner,
  });
  await producer.connect();
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: async ({ buffer }: { readonly buffer: Buffer }) => zstdCompressSync(buffer),
    decompress: async (buffer: Buffer) => buffer,
  });
  try {
    // Batches of some kilobytes, between the others.
    for (const compression of [CompressionTypes.ZSTD, CompressionTypes.GZIP]) {
      const [partition] = random.pick(samples);
      await producer.send({ topic, compression, messages: [{ partition, value: Buffer.alloc(BOMB_BYTES) }] });
    }
    for (let appended = 0; appended < count; appended += RECORDS_BATCH_COUNT) {
      const messages = Array.from({ length: Math.min(RECORDS_BATCH_COUNT, count - appended) }, () => {
        const [partition, record] = random.pick(samples);
        return {
          partition: random.chance(0.9) ? partition : random.pick(samples)[0],
          value: random.pick(MAKES)(random, record),
        };
      });
      await producer.send({ topic, messages });
    }
  } finally {
    await producer.disconnect();
  }
}
