/**
 * Owns the bytes that the requests of the data path share. Every broker from Kafka 2.4 to 4.x answers the chosen versions, which name
 * topics by name. Must not do I/O.
 */

import { readInt64 } from './record-batch.ts';

export interface Api {
  readonly key: number;
  readonly version: number;
}
export const PRODUCE: Api = { key: 0, version: 7 };
export const FETCH: Api = { key: 1, version: 11 };
export const LIST_OFFSETS: Api = { key: 2, version: 5 };
export const METADATA: Api = { key: 3, version: 7 };
export const DELETE_RECORDS: Api = { key: 21, version: 1 };
export const DESCRIBE_LOG_DIRS: Api = { key: 35, version: 1 };

/** Reads an answer from front to back. */
export class Answer {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  skip(count: number): void {
    this.#at += count;
  }

  int16(): number {
    this.#at += 2;
    return this.#bytes.readInt16BE(this.#at - 2);
  }

  int32(): number {
    this.#at += 4;
    return this.#bytes.readInt32BE(this.#at - 4);
  }

  int64(): number {
    this.#at += 8;
    return readInt64(this.#bytes, this.#at - 8);
  }

  string(): string {
    const length = this.int16();
    if (length <= 0) return '';
    this.#at += length;
    return this.#bytes.toString('utf8', this.#at - length, this.#at);
  }

  bytes(): Buffer {
    const length = Math.max(0, this.int32());
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  skipInt32s(): number {
    const count = this.int32();
    this.skip(4 * Math.max(0, count));
    return count;
  }
}

/** Writes a request's front: fixed fields, then one topic and the number of its partitions. */
export function front(
  fixed: readonly (readonly [bytes: 1 | 2 | 4, value: number])[],
  topic: string,
  count: number,
): Buffer {
  const name = Buffer.from(topic);
  const fixedBytes = fixed.reduce((sum, [bytes]) => sum + bytes, 0);
  const out = Buffer.allocUnsafe(fixedBytes + 4 + 2 + name.length + 4);
  let at = 0;
  for (const [bytes, value] of fixed) at = out.writeIntBE(value, at, bytes);
  at = out.writeInt32BE(1, at);
  at = out.writeInt16BE(name.length, at);
  at += name.copy(out, at);
  out.writeInt32BE(count, at);
  return out;
}

/** Reads answers of the shape `[topic, [partition …]]`; `each` reads one partition. */
export function eachPartition(answer: Answer, each: () => void): void {
  const topics = answer.int32();
  for (let topic = 0; topic < topics; topic++) {
    answer.skip(Math.max(0, answer.int16()));
    const partitions = answer.int32();
    for (let index = 0; index < partitions; index++) each();
  }
}
