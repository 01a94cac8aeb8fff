/**
 * Owns the tests of reading segments of earlier releases: `testdata/segment-v1.parquet` is from the release that had a Parquet writer of
 * its own, with every encoding that it used. It is never rewritten.
 */

import { readFileSync } from 'node:fs';
import type { Offset, Partition, Position } from '@tidemark/core';
import { expect, it } from 'vitest';
import { CHAIN_START, chainOver } from './chain.ts';
import { decodeSegment } from './decode-segment.ts';
import type { SegmentRecord } from './encode-segment.ts';
import { recordsOf, sampleRecords } from './sample-records-fixture.ts';

const HEADER = {
  ...{ v: 1, id: 'é1', tenant: 'acme', workflow: 'w1', generation: 3, lamport: 4, epoch: 5, holder: 'h', ordinal: 6 },
  ...{ atMs: 1_700_000_000_123, type: 'LeaseClaimed', control: {}, payload: 'json' },
};
const record = (header: unknown, payload = 'null'): string => `${JSON.stringify(header)}\n${payload}`;

/** A full page of text, numbers too far apart for differences, names by the hundred, headers without columns. */
function writtenRecords(): readonly SegmentRecord[] {
  const text = 'x1'.repeat(524_288);
  const values = [
    ...Array.from({ length: 10 }, (_, at) => record(HEADER, JSON.stringify(text + at))),
    ...Array.from({ length: 700 }, (_, at) => record({ ...HEADER, workflow: `w${at}`, lamport: (at * 7_919) % 1_009 })),
    record({ ...HEADER, epoch: 10 ** 14 }),
    record({ ...HEADER, v: 2, payload: 'sealed', key: 'k1' }, '\0\xff'),
    record(Object.fromEntries(Object.entries(HEADER).toReversed())),
    ...['', '\n', 'no header', '{}\n\n', Buffer.from([0xff, 0x0a, 0xfe]), Buffer.from('x\ny\0')],
  ];
  const rest = recordsOf(values).map((each, at) => ({
    ...each,
    offset: (sampleRecords().length + at) as Offset,
    position: at % 3 === 0 ? null : (at as Position),
    rejected: at % 9 === 0 ? 'für nichts' : null,
  }));
  return [...sampleRecords(), ...rest];
}

it('a segment of version 1 gives back its records', () => {
  const file = readFileSync(new URL('testdata/segment-v1.parquet', import.meta.url));
  const segment = decodeSegment(file);
  const records = writtenRecords();
  expect(segment).toMatchObject({ partition: 3 as Partition, from: 0, to: records.length, chainBefore: CHAIN_START });
  expect(segment.chainAfter).toBe(chainOver(CHAIN_START, records));
  for (const [at, { offset, value, position, rejected }] of segment.records.entries()) {
    expect([offset, position, rejected]).toEqual([at, records[at]!.position, records[at]!.rejected]);
    expect(Buffer.compare(value, records[at]!.value), `record ${at}`).toBe(0);
  }
});
