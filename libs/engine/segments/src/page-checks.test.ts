/**
 * Owns the tests of the checks in front of the Parquet library: they refuse what would make it allocate more than its input; each test
 * shows what the library would have done.
 */

import { deltaBinaryUnpack } from 'hyparquet/src/delta.js';
import { readRleBitPackedHybrid } from 'hyparquet/src/encoding.js';
import { deserializeTCompactProtocol } from 'hyparquet/src/thrift.js';
import { describe, expect, it } from 'vitest';
import { checkDeltas, checkRuns, METADATA_DEPTH_MAX, METADATA_TEXT_MAX_BYTES, structEnd } from './page-checks.ts';

const viewOf = (bytes: Buffer): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
const damage = expect.objectContaining({ code: 'segment-damaged' });

describe('metadata', () => {
  /** The members of a structure: 1 is a text, 2 a list of numbers, 3 true, 40 a structure. */
  const sound = Buffer.from([0x18, 2, 97, 98, 0x19, 0x25, 2, 4, 0x11, 0x0c, 80, 0x16, 2, 0, 0]);

  it('ends where the library ends', () => {
    const reader = { view: viewOf(sound), offset: 0 };
    expect(deserializeTCompactProtocol(reader)).toMatchObject({
      field_2: [1, 2],
      field_3: true,
      field_40: { field_1: 1n },
    });
    expect(structEnd(sound, 0)).toBe(reader.offset);
    for (let length = 0; length < sound.length; length++) {
      expect(() => structEnd(sound.subarray(0, length), 0)).toThrow(damage);
    }
  });

  it('has no list that is longer than itself', () => {
    // The library would allocate a million structures at once.
    const long = Buffer.from([0x19, 0xfc, 0xc0, 0x84, 0x3d, 0, 0]);
    expect(() => structEnd(long, 0)).toThrow('longer than itself');
  });

  it('has no number without an end, no long text and no endless depth', () => {
    expect(() => structEnd(Buffer.from([0x16, ...Array<number>(11).fill(0x80), 0, 0]), 0)).toThrow('without an end');
    const textOf = (length: number): Buffer =>
      Buffer.concat([Buffer.from([0x18, (length & 0x7f) | 0x80, length >> 7]), Buffer.alloc(length + 1)]);
    expect(structEnd(textOf(METADATA_TEXT_MAX_BYTES), 0)).toBe(METADATA_TEXT_MAX_BYTES + 4);
    expect(() => structEnd(textOf(METADATA_TEXT_MAX_BYTES + 1), 0)).toThrow('a text of');
    const nested = (depth: number): Buffer => Buffer.concat([Buffer.alloc(depth, 0x1c), Buffer.alloc(depth + 1)]);
    expect(structEnd(nested(METADATA_DEPTH_MAX - 1), 0)).toBe(2 * METADATA_DEPTH_MAX - 1);
    for (const depth of [METADATA_DEPTH_MAX, 1_000_000]) {
      expect(() => structEnd(nested(depth), 0)).toThrow('too deeply');
    }
    const lists = Buffer.concat([Buffer.from([0x19]), Buffer.alloc(100_000, 0x19)]);
    expect(() => structEnd(lists, 0)).toThrow('too deeply');
    expect(() => structEnd(Buffer.from([0x1a, 0x15, 2, 0]), 0)).toThrow('a value of type 10');
  });
});

describe('runs', () => {
  it('are as many numbers as there are rows', () => {
    // Eight times 1, then five numbers in a packed group.
    const runs = Buffer.from([16, 1, 3, 0b10101]);
    checkRuns(runs, 1, 13);
    const read = new Array<number>(13);
    readRleBitPackedHybrid({ view: viewOf(runs), offset: 0 }, 1, read, runs.length);
    expect(read).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1]);
    for (const count of [7, 17]) expect(() => checkRuns(runs, 1, count), `${count}`).toThrow(damage);
  });

  it('are no longer than that', () => {
    const long = Buffer.from([0xd0, 0x0f, 1]);
    expect(() => checkRuns(long, 1, 8)).toThrow('other runs than rows');
    // The control: what the library reads from it, for eight rows.
    const read = new Array<number>(8);
    readRleBitPackedHybrid({ view: viewOf(long), offset: 0 }, 1, read, long.length);
    expect(read).toHaveLength(1_000);
  });

  it('are of something, and end where they say', () => {
    expect(() => checkRuns(Buffer.from([0, 0, 0]), 1, 8)).toThrow('other runs than rows');
    expect(() => checkRuns(Buffer.from([1, 1, 1]), 1, 8)).toThrow('other runs than rows');
    expect(() => checkRuns(Buffer.from([3]), 1, 8)).toThrow('too early');
    expect(() => checkRuns(Buffer.from([16]), 1, 8)).toThrow('too early');
    expect(() => checkRuns(Buffer.alloc(9, 0xff), 1, 8)).toThrow('without an end');
  });
});

describe('differences', () => {
  /** 7, 8, then 40 more by steps of 0 or 1 in two miniblocks. */
  const deltas = Buffer.concat([Buffer.from([128, 1, 4, 42, 14, 0, 1, 1, 0, 0]), Buffer.alloc(8, 0x55)]);

  it('are as many as there are rows', () => {
    checkDeltas(deltas, 42);
    const read = new BigInt64Array(42);
    deltaBinaryUnpack({ view: viewOf(deltas), offset: 0 }, 42, read);
    expect([read[0], read[1], read[2], read[41]]).toEqual([7n, 8n, 8n, 28n]);
    for (const count of [1, 41, 43]) expect(() => checkDeltas(deltas, count)).toThrow('another way');
  });

  it('have no more bits than a number, no number without an end, and end where they say', () => {
    for (let length = 0; length < deltas.length; length++) {
      expect(() => checkDeltas(deltas.subarray(0, length), 42)).toThrow(damage);
    }
    const wide = Buffer.from(deltas);
    wide[6] = 65;
    expect(() => checkDeltas(wide, 42)).toThrow('65 bits');
    const endless = Buffer.concat([deltas.subarray(0, 5), Buffer.alloc(100, 0x80)]);
    expect(() => checkDeltas(endless, 42)).toThrow('without an end');
  });
});
