/**
 * Owns the requests that carry records, Produce v7 and Fetch v11, and their answers. Must not do I/O, and must not judge:
 * error codes come out as they came in.
 */

import { writeInt64 } from './record-batch.ts';
import { Answer, eachPartition, front } from './wire.ts';

export interface ProduceAnswer {
  readonly errorCode: number;
  readonly baseOffset: number;
}

/** `encoded` holds the batches with their prefixes, as `writeGroup` made them. acks is all. */
export function produceRequest(
  topic: string,
  batchCount: number,
  encoded: readonly Buffer[],
  timeoutMs: number,
): readonly Buffer[] {
  const acksAll = -1;
  const noTransaction = -1;
  return [
    front(
      [
        [2, noTransaction],
        [2, acksAll],
        [4, timeoutMs],
      ],
      topic,
      batchCount,
    ),
    ...encoded,
  ];
}

export function produceAnswers(bytes: Buffer): ReadonlyMap<number, ProduceAnswer> {
  const answer = new Answer(bytes);
  const found = new Map<number, ProduceAnswer>();
  eachPartition(answer, () => {
    const partition = answer.int32();
    const errorCode = answer.int16();
    found.set(partition, { errorCode, baseOffset: answer.int64() });
    answer.skip(16);
  });
  return found;
}

export interface FetchTarget {
  readonly partition: number;
  readonly from: number;
  readonly maxBytes: number;
}

export interface FetchAnswer {
  readonly partition: number;
  readonly errorCode: number;
  readonly highWatermark: number;
  readonly records: Buffer;
}

/** The broker answers at once with what is there. */
export function fetchRequest(topic: string, targets: readonly FetchTarget[], maxBytes: number): readonly Buffer[] {
  const consumer = -1;
  const head = front(
    [
      [4, consumer],
      [4, 0], // longest wait
      [4, 0], // fewest bytes
      [4, maxBytes],
      [1, 0], // read uncommitted
      [4, 0], // no fetch session
      [4, -1],
    ],
    topic,
    targets.length,
  );
  const body = Buffer.allocUnsafe(targets.length * 28 + 6);
  let at = 0;
  for (const target of targets) {
    at = body.writeInt32BE(target.partition, at);
    at = body.writeInt32BE(-1, at); // any leader epoch
    writeInt64(body, target.from, at);
    writeInt64(body, -1, at + 8);
    at = body.writeInt32BE(target.maxBytes, at + 16);
  }
  at = body.writeInt32BE(0, at); // forgotten topics
  body.writeInt16BE(0, at); // rack
  return [head, body];
}

/** `errorCode` of the whole answer, or one answer per partition; their records are views of `bytes`. */
export function fetchAnswers(bytes: Buffer): { readonly errorCode: number; readonly partitions: FetchAnswer[] } {
  const answer = new Answer(bytes);
  answer.skip(4);
  const errorCode = answer.int16();
  answer.skip(4);
  const partitions: FetchAnswer[] = [];
  eachPartition(answer, () => {
    const partition = answer.int32();
    const code = answer.int16();
    const highWatermark = answer.int64();
    answer.skip(16); // last stable offset, log start
    answer.skip(16 * Math.max(0, answer.int32())); // aborted transactions
    answer.skip(4); // preferred replica
    partitions.push({ partition, errorCode: code, highWatermark, records: answer.bytes() });
  });
  return { errorCode, partitions };
}
