/** Owns the baselines measured in the same run: a bare kafkajs append and a bare SQLite commit of the same size, and a bare loop. */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { Kafka, logLevel } from 'kafkajs';

const LOOP_COUNT = 50_000_000;

function loop(count: number): number {
  let sum = 0;
  for (let n = 0; n < count; n++) sum = (sum * 31 + n) | 0;
  return sum;
}

/** Nanoseconds of a turn of a bare loop (about 2 on an idle core of 2 GHz): how fast the machine is just now. */
export function rawLoopNs(): number {
  loop(LOOP_COUNT / 50);
  const start = performance.now();
  loop(LOOP_COUNT);
  return ((performance.now() - start) * 1e6) / LOOP_COUNT;
}

/** Milliseconds of each of `count` sequential appends of `bytes`, acks=all, with a pause before each. */
export async function rawKafkaAppends(
  broker: string,
  count: number,
  bytes: number,
  pauseMs = 0,
): Promise<readonly number[]> {
  const kafka = new Kafka({ clientId: 'bench-raw', brokers: [broker], logLevel: logLevel.NOTHING });
  const topic = `bench-raw-${process.pid}-${Date.now()}`;
  const admin = kafka.admin();
  const producer = kafka.producer({ allowAutoTopicCreation: false, retry: { retries: 0 }, idempotent: false });
  await admin.connect();
  await producer.connect();
  try {
    await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true });
    const value = Buffer.alloc(bytes, 'x');
    const times: number[] = [];
    for (let n = 0; n < count; n++) {
      if (pauseMs > 0) await wait(pauseMs);
      const start = performance.now();
      await producer.send({ topic, acks: -1, messages: [{ value, partition: 0 }] });
      times.push(performance.now() - start);
    }
    return times;
  } finally {
    await producer.disconnect();
    await admin.deleteTopics({ topics: [topic] });
    await admin.disconnect();
  }
}

/** Milliseconds of each of `count` sequential commits of one row of `bytes`, WAL, `synchronous=FULL`. */
export async function rawSqliteCommits(count: number, bytes: number): Promise<readonly number[]> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-bench-'));
  const database = new DatabaseSync(path.join(folder, 'raw.db'));
  try {
    database.exec(
      'pragma journal_mode=wal; pragma synchronous=full; create table rows (id integer primary key, value blob)',
    );
    const insert = database.prepare('insert into rows (value) values (?)');
    const value = Buffer.alloc(bytes, 'x');
    const times: number[] = [];
    for (let n = 0; n < count; n++) {
      const start = performance.now();
      insert.run(value);
      times.push(performance.now() - start);
    }
    return times;
  } finally {
    database.close();
    await rm(folder, { recursive: true });
  }
}
