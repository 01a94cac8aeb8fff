/**
 * Owns the wire form of hinted partitions: a version byte, then the numbers in ascending order as differences, each a variable-length
 * integer (7 bits a byte, least first). A thousand neighbours take 1 kB. An unreadable message is no hint.
 */

import { PARTITION_MAX, type Partition, partition } from '@tidemark/core';

const VERSION = 1;
/** Bytes of the longest number: partitions are below 2^31. */
const NUMBER_BYTES_MAX = 5;

/** `ascending` holds each number once. */
export function encodePartitions(ascending: readonly Partition[]): Buffer {
  const bytes = Buffer.allocUnsafe(1 + ascending.length * NUMBER_BYTES_MAX);
  let length = 0;
  bytes[length++] = VERSION;
  let previous = 0;
  for (const number of ascending) {
    let rest = number - previous;
    previous = number;
    while (rest > 0x7f) {
      bytes[length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    bytes[length++] = rest;
  }
  return bytes.subarray(0, length);
}

/** Ascending; empty for a damaged message or one of another version. */
export function decodePartitions(bytes: Uint8Array): Partition[] {
  if (bytes[0] !== VERSION) return [];
  const partitions: Partition[] = [];
  let previous = 0;
  let value = 0;
  let shift = 0;
  for (let index = 1; index < bytes.length; index += 1) {
    const byte = bytes[index]!;
    value += (byte & 0x7f) * 2 ** shift;
    shift += 7;
    if (byte & 0x80) {
      if (shift >= NUMBER_BYTES_MAX * 7) return [];
      continue;
    }
    previous += value;
    if (previous > PARTITION_MAX) return [];
    partitions.push(partition(previous));
    value = 0;
    shift = 0;
  }
  return shift === 0 ? partitions : [];
}
