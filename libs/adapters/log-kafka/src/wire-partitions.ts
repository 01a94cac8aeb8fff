/**
 * Owns the requests about partitions, without records: ListOffsets v5, DeleteRecords v1, DescribeLogDirs v1, Metadata v7,
 * and their answers. Must not do I/O, and must not judge: error codes come out as they came in.
 */

import { writeInt64 } from './record-batch.ts';
import { Answer, eachPartition, front } from './wire.ts';

export const EARLIEST = -2;
export const LATEST = -1;

export interface OffsetAnswer {
  readonly partition: number;
  readonly errorCode: number;
  readonly offset: number;
}

export function listOffsetsRequest(
  topic: string,
  partitions: readonly number[],
  which: typeof EARLIEST | typeof LATEST,
): readonly Buffer[] {
  const consumer = -1;
  const head = front(
    [
      [4, consumer],
      [1, 0],
    ],
    topic,
    partitions.length,
  );
  const body = Buffer.allocUnsafe(partitions.length * 16);
  let at = 0;
  for (const partition of partitions) {
    at = body.writeInt32BE(partition, at);
    at = body.writeInt32BE(-1, at);
    writeInt64(body, which, at);
    at += 8;
  }
  return [head, body];
}

export function listOffsetsAnswers(bytes: Buffer): readonly OffsetAnswer[] {
  const answer = new Answer(bytes);
  answer.skip(4);
  const found: OffsetAnswer[] = [];
  eachPartition(answer, () => {
    const partition = answer.int32();
    const errorCode = answer.int16();
    answer.skip(8);
    found.push({ partition, errorCode, offset: answer.int64() });
    answer.skip(4);
  });
  return found;
}

/** Removes the records of one partition before `before`. */
export function deleteRecordsRequest(
  topic: string,
  partition: number,
  before: number,
  timeoutMs: number,
): readonly Buffer[] {
  const body = Buffer.allocUnsafe(16);
  body.writeInt32BE(partition, 0);
  writeInt64(body, before, 4);
  body.writeInt32BE(timeoutMs, 12);
  return [front([], topic, 1), body];
}

export function deleteRecordsAnswer(bytes: Buffer): number {
  const answer = new Answer(bytes);
  answer.skip(4);
  let errorCode = 0;
  eachPartition(answer, () => {
    answer.skip(12);
    errorCode = answer.int16();
  });
  return errorCode;
}

export interface BrokerNode {
  readonly nodeId: number;
  readonly host: string;
  readonly port: number;
}

export interface TopicMetadata {
  readonly brokers: ReadonlyMap<number, BrokerNode>;
  readonly errorCode: number;
  /** Leader of each partition by index; -1 while it has none. */
  readonly leaders: Int32Array;
  /** Replicas of the partition that has the fewest. */
  readonly replicationFactor: number;
}

export function metadataRequest(topic: string): readonly Buffer[] {
  const name = Buffer.from(topic);
  const out = Buffer.alloc(4 + 2 + name.length + 1); // the last byte: never create the topic
  out.writeInt32BE(1, 0);
  out.writeInt16BE(name.length, 4);
  name.copy(out, 6);
  return [out];
}

export function metadataAnswer(bytes: Buffer): TopicMetadata {
  const answer = new Answer(bytes);
  answer.skip(4);
  const brokers = readBrokers(answer);
  answer.string(); // cluster
  answer.skip(8); // controller, number of topics: the request named one
  const errorCode = answer.int16();
  answer.string();
  answer.skip(1);
  const count = answer.int32();
  const leaders = new Int32Array(count).fill(-1);
  let replicationFactor = Number.POSITIVE_INFINITY;
  for (let index = 0; index < count; index++) {
    answer.skip(2);
    const partition = answer.int32();
    const leader = answer.int32();
    answer.skip(4);
    replicationFactor = Math.min(replicationFactor, answer.skipInt32s());
    answer.skipInt32s();
    answer.skipInt32s();
    if (partition < count) leaders[partition] = leader;
  }
  return { brokers, errorCode, leaders, replicationFactor: count === 0 ? 0 : replicationFactor };
}

function readBrokers(answer: Answer): Map<number, BrokerNode> {
  const brokers = new Map<number, BrokerNode>();
  for (let left = answer.int32(); left > 0; left--) {
    const node = { nodeId: answer.int32(), host: answer.string(), port: answer.int32() };
    answer.string(); // rack
    brokers.set(node.nodeId, node);
  }
  return brokers;
}

export function logDirsRequest(topic: string, partitions: readonly number[]): readonly Buffer[] {
  const body = Buffer.allocUnsafe(partitions.length * 4);
  partitions.forEach((partition, index) => {
    body.writeInt32BE(partition, index * 4);
  });
  return [front([], topic, partitions.length), body];
}

/** Bytes of each partition that the broker holds, and the first error code. */
export function logDirsAnswer(bytes: Buffer): {
  readonly errorCode: number;
  readonly sizes: ReadonlyMap<number, number>;
} {
  const answer = new Answer(bytes);
  answer.skip(4);
  const sizes = new Map<number, number>();
  let errorCode = 0;
  for (let folders = answer.int32(); folders > 0; folders--) {
    errorCode ||= answer.int16();
    answer.string();
    eachPartition(answer, () => {
      const partition = answer.int32();
      sizes.set(partition, (sizes.get(partition) ?? 0) + answer.int64());
      answer.skip(9);
    });
  }
  return { errorCode, sizes };
}
