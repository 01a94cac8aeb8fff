/**
 * Owns the tests of segments: we read records back byte for byte, other readers read the columns, and the same input gives the same file.
 */

import { createSecretKey } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import { decodeRecord, sealRecord } from '@tidemark/codec';
import { CorruptError, InvalidError, LimitError, type Offset, type Partition, type Position } from '@tidemark/core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHAIN_START, chainOver } from './chain.ts';
import { decodeSegment } from './decode-segment.ts';
import { encodeSegment, encodeSegmentAside, ROW_GROUP_RECORDS_MAX, type SegmentRecord } from './encode-segment.ts';
import { readFooter } from './footer.ts';
import { SEGMENT_RAW_MAX_BYTES } from './limits.ts';
import { recordsOf, sampleRecords } from './sample-records-fixture.ts';
import { segmentColumns } from './schema.ts';

const PARTITION = 12 as Partition;

const encoded = (records: readonly SegmentRecord[]): Uint8Array =>
  encodeSegment({ partition: PARTITION, records, chainBefore: CHAIN_START }).bytes;

const plain = (records: readonly SegmentRecord[]): readonly unknown[] =>
  records.map(({ offset, value, position, rejected }) => [
    offset,
    Buffer.from(value).toString('hex'),
    position,
    rejected,
  ]);

function expectBack(records: readonly SegmentRecord[]): void {
  expect(plain(decodeSegment(encoded(records)).records)).toEqual(plain(records));
}

let folder: string;
let duck: DuckDBConnection;
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-segments-'));
  duck = await (await DuckDBInstance.create(':memory:')).connect();
});
afterAll(async () => {
  duck.closeSync();
  await rm(folder, { recursive: true, force: true });
});

/** Rows from a reader that shares no code with the writer; times in milliseconds. */
async function rowsBy(bytes: Uint8Array): Promise<readonly Record<string, unknown>[]> {
  const file = path.join(folder, 'segment.parquet');
  await writeFile(file, bytes);
  const read = await duck.runAndReadAll(
    `SELECT * REPLACE (epoch_ms(written_at) AS written_at) FROM read_parquet('${file}', hive_partitioning = false)`,
  );
  return read.getRowObjects();
}

const HEADER = {
  ...{ v: 1, id: 'e1', tenant: 'acme', workflow: 'w1', generation: 3, lamport: 4, epoch: 5, holder: 'h', ordinal: 6 },
  ...{ atMs: 1_700_000_000_123, type: 'LeaseClaimed', control: {}, payload: 'json' },
};
const record = (header: unknown, payload = 'null'): string => `${JSON.stringify(header)}\n${payload}`;

describe('a segment', () => {
  it('gives back records, place and chain', () => {
    const records = sampleRecords();
    const chainBefore = 'ab'.repeat(32);
    const { bytes, chainAfter } = encodeSegment({ partition: PARTITION, records, chainBefore });
    const segment = decodeSegment(bytes);
    expect(records.every(({ value }) => decodeRecord(value).kind === 'event')).toBe(true);
    expect(plain(segment.records)).toEqual(plain(records));
    expect(segment).toMatchObject({ partition: PARTITION, from: 0, to: records.length, chainBefore, chainAfter });
    expect(chainAfter).toBe(chainOver(chainBefore, records));
  });

  it('begins anywhere, and keeps a record that the fold left unread', () => {
    const from = 2 ** 40;
    const records = recordsOf([record(HEADER), record(HEADER)], from).map((each) => ({ ...each, position: null }));
    expectBack(records);
    expect(decodeSegment(encoded(records))).toMatchObject({ from, to: from + 2 });
  });

  it('is the same file for the same input (S1)', () => {
    expect(encoded(sampleRecords())).toEqual(encoded(sampleRecords()));
    // The control: one changed byte gives another file.
    const [first, ...rest] = sampleRecords();
    const changed = { ...first!, value: Buffer.concat([first!.value, Buffer.from(' ')]) };
    expect(encoded([changed, ...rest])).not.toEqual(encoded(sampleRecords()));
  });

  it('is the same file when other threads compress it (S1)', async () => {
    const input = { partition: PARTITION, records: sampleRecords(), chainBefore: CHAIN_START };
    expect(await encodeSegmentAside(input)).toEqual(encodeSegment(input));
    await expect(encodeSegmentAside({ ...input, records: [] })).rejects.toThrow('there are none');
  });

  it('has columns that another reader reads', async () => {
    const rows = await rowsBy(encoded(sampleRecords()));
    expect(rows).toHaveLength(22);
    expect(Object.keys(rows[0]!)).toEqual(segmentColumns.map(({ name }) => name));
    expect(rows[4]).toMatchObject({
      ...{ partition: 12, log_offset: 4n, workflow: 'report-1', tenant: 'acme', type: 'CheckpointCommitted' },
      ...{ event_id: 'event-4', generation: 1n, position: 5n, rejected: null, lamport: 5n, epoch: 1n, ordinal: 5n },
      ...{ holder: 'worker-1', written_at: BigInt(Date.UTC(2026, 10, 2, 9, 0, 6)), payload_encoding: 'json' },
      ...{
        sequence: 1n,
        step: 'plan',
        checkpoint: 'report-1-checkpoint-1',
        task: '0.0',
        tokens: 412,
        cost_micros: 1_236,
      },
      ...{ effect_key: null, operation: null, outcome: null, payload_bytes: null, raw: null },
    });
    expect(rows[3]).toMatchObject({
      ...{
        type: 'EffectResolved',
        effect_key: 'report-1:0.0:model:0',
        operation: 'model',
        outcome: 'done',
        task: '0.0',
      },
      // The cost of a model call is in its checkpoint, and would count twice.
      ...{ tokens: null, cost_micros: null, step: null },
    });
    expect(rows.at(-1)).toMatchObject({ rejected: 'closed', position: null });
    expect(JSON.parse(String(rows[10]!.payload))).toEqual({ output: { title: 'Überblick', words: 640 }, tasks: [] });
  });

  it('gives back records that take several row groups, by their bytes or their number', async () => {
    const megabyte = 'x1'.repeat(524_288);
    const large = Array.from({ length: 20 }, (_, index) => record(HEADER, JSON.stringify(megabyte + index)));
    const many = Array.from({ length: ROW_GROUP_RECORDS_MAX + 10 }, () => record(HEADER));
    const records = recordsOf([...large, ...many]);
    expectBack(records);
    const file = encoded(records);
    expect(readFooter(Buffer.from(file)).row_groups.map(({ num_rows }) => Number(num_rows))).toEqual([
      ...[4, 4, 4, 4, 4],
      ROW_GROUP_RECORDS_MAX,
      10,
    ]);
    const rows = await rowsBy(file);
    expect(rows.map(({ log_offset }) => Number(log_offset))).toEqual(records.map(({ offset }) => offset));
  });

  it('gives back many records, with names and numbers of many kinds', () => {
    const values = Array.from({ length: 3_000 }, (_, index) =>
      record({
        ...HEADER,
        workflow: `w${index % 700}`,
        lamport: (index * 7_919) % 100_003,
        epoch: index < 1_500 ? 1 : 10 ** 14,
      }),
    );
    expectBack(recordsOf(values));
  });
});

describe('what is written otherwise than we write it is kept as it is (S2)', () => {
  const event = JSON.stringify(HEADER);
  const cases: readonly (readonly [string, Uint8Array | string])[] = [
    ['nothing', ''],
    ['a line feed', '\n'],
    ['no line feed', event],
    ['several line feeds', `${event}\n\nnull\n`],
    ['an empty payload', `${event}\n`],
    ['a NUL in the payload', `${event}\n"\0"`],
    ['a payload that is no UTF-8', Buffer.from(`${event}\n\xff\xfe`, 'latin1')],
    ['a header that is no UTF-8', Buffer.from(`${event.replace('acme', 'ac\xffme')}\nnull`, 'latin1')],
    ['a control that is no UTF-8', Buffer.from(`${event.replace('{}', '{"a":"\xff"}')}\nnull`, 'latin1')],
    ['a NUL in the header', `${event.replace('acme', 'ac\0me')}\nnull`],
    ['spaces', `${JSON.stringify(HEADER, null, 1).replaceAll('\n', '')}\nnull`],
    ['a byte order mark', `\ufeff${event}\nnull`],
    ['a carriage return', `${event}\r\nnull`],
    ['escapes in a name', record({ ...HEADER, workflow: 'w"1"\\' })],
    ['needless escapes', `${event.replace('acme', '\\u0061cme')}\nnull`],
    ['half a surrogate pair', record({ ...HEADER, control: { a: '\ud800' } })],
    ['a number with a point', record({ ...HEADER, atMs: 1_700_000_000_123.5 })],
    ['a number in another form', `${event.replace('"epoch":5', '"epoch":5.0')}\nnull`],
    ['a zero in front', `${event.replace('"epoch":5', '"epoch":05')}\nnull`],
    ['a minus', `${event.replace('"epoch":5', '"epoch":-5')}\nnull`],
    ['a huge number', `${event.replace('"epoch":5', `"epoch":${'9'.repeat(400)}`)}\nnull`],
    ['a time beyond all calendars', record({ ...HEADER, atMs: 8.7e15 })],
    ['a number beyond what can be counted', `${event.replace('"lamport":4', '"lamport":9007199254740993')}\nnull`],
    ['a member twice', `${event.replace('"epoch":5', '"epoch":5,"epoch":5')}\nnull`],
    ['a control twice', `${event.replace('"control":{}', '"control":{},"control":{}')}\nnull`],
    ['another member', record({ ...HEADER, more: 1 })],
    ['a member less', record({ ...HEADER, tenant: undefined })],
    ['a later version', record({ ...HEADER, v: 3 })],
    ['a control that is no JSON', `${event.replace('{}', '{')}\nnull`],
    ['a control that ends the header', `${event.replace('{}', '{},"payload":"json"}')}\nnull`],
    ['deep nesting', `${event.replace('{}', '['.repeat(100_000))}\nnull`],
    ['deep nesting that ends', `${event.replace('{}', '['.repeat(100_000) + ']'.repeat(100_000))}\nnull`],
    ['dictionary attacks', record({ ...HEADER, control: JSON.parse('{"__proto__":{"step":"x"},"step":{"a":1}}') })],
    ['an array', '[]\nnull'],
    ['any bytes', Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))],
  ];

  it.each(cases)('%s', (_, value) => expectBack(recordsOf([record(HEADER), value, record(HEADER)])));

  it('all of them together', () => expectBack(recordsOf(cases.map(([, value]) => value))));

  it('orders of members are layouts; more of them than are told apart are kept as they are', async () => {
    const names = Object.keys(HEADER);
    const turned = names.map((_, index) => [...names.slice(index), ...names.slice(0, index)]);
    const reversed = turned.map((order) => order.toReversed());
    const values = [...turned, ...reversed].map((order) =>
      record(Object.fromEntries(order.map((name) => [name, HEADER[name as keyof typeof HEADER]]))),
    );
    expectBack(recordsOf(values));
    const rows = await rowsBy(encoded(recordsOf(values)));
    // Sealed records add a layout.
    expect(rows.map(({ raw }) => raw === null)).toEqual(values.map((_, index) => index < 15));
    // A record without a layout still has columns.
    expect(rows.every(({ event_id, epoch }) => event_id === 'e1' && epoch === 5n)).toBe(true);
  });

  it('tells as much as can be told: all of an event, the stream of a newer one, nothing of the rest', async () => {
    const values = [
      record({ ...HEADER, atMs: 1.5, holder: 'é"', type: 'TimerFired', control: { timer: 'ü' } }),
      record({ v: 3, workflow: 'w9', generation: 8, type: 'Later', else: true }),
      record({ ...HEADER, generation: 0.5 }),
    ];
    const rows = await rowsBy(encoded(recordsOf(values)));
    expect(rows[0]).toMatchObject({ written_at: 1n, holder: 'é"', control: '{"timer":"ü"}', payload: 'null' });
    expect(rows[1]).toMatchObject({ workflow: 'w9', generation: 8n, type: 'Later', tenant: null, control: null });
    expect(rows[2]).toMatchObject({ workflow: null, generation: null, type: null, control: null, layout: null });
  });

  it('derives texts with escapes and beyond ASCII as they are meant', async () => {
    const keys = ['a\tb', 'é', '漢字', '\u0007', '😀'];
    const values = keys.map((key) => record({ ...HEADER, type: 'EffectIntended', control: { key, step: 'ü' } }));
    const escaped = record(HEADER).replace('{}', '{"key":"\\u00e9\\u6f22","step":"ü"}');
    const rows = await rowsBy(encoded(recordsOf([...values, escaped])));
    expect(rows.map(({ effect_key }) => effect_key)).toEqual([...keys, 'é漢']);
    expect(rows.every(({ step, raw }) => step === 'ü' && raw === null)).toBe(true);
  });
});

describe('any records', () => {
  const name = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('', 'w1', 'CheckpointCommitted', '~partition'),
  );
  const number = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.double(), fc.constantFrom(-1, 2 ** 53, 1e300));
  const value = fc.oneof(name, number, fc.constant(null));
  const control = fc.oneof(
    fc.json().map((json) => JSON.parse(json) as unknown),
    fc.dictionary(fc.string(), value),
  );
  const fields = fc.record({
    ...{ v: fc.constantFrom(1, 1, 1, 2), id: name, tenant: name, workflow: name, generation: number, lamport: number },
    ...{
      epoch: number,
      holder: name,
      ordinal: number,
      atMs: number,
      type: name,
      control,
      payload: fc.constantFrom('json', 'x'),
    },
  });
  const header = fc.oneof(
    { weight: 4, arbitrary: fields.map((each) => JSON.stringify(each)) },
    { weight: 1, arbitrary: fc.tuple(fields, fc.nat()).map(([each, by]) => JSON.stringify(shuffled(each, by))) },
    {
      weight: 1,
      arbitrary: fc.tuple(fields, fc.nat(), fc.string()).map(([each, at, text]) => spliced(each, at, text)),
    },
    { weight: 1, arbitrary: fc.json() },
  );
  const payload = fc.oneof(
    fc.json().map((json) => Buffer.from(json)),
    fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)),
  );
  const bytes = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(header, payload).map(([head, rest]) => Buffer.concat([Buffer.from(`${head}\n`), rest])),
    },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((each) => Buffer.from(each)) },
  );
  const records = fc
    .tuple(
      fc.nat(2 ** 48),
      fc.array(fc.tuple(bytes, fc.option(fc.maxSafeNat()), name), { minLength: 1, maxLength: 40 }),
    )
    .map(([from, each]) =>
      each.map(
        ([value, position, reason], index): SegmentRecord => ({
          offset: (from + index) as Offset,
          value,
          position: position as Position | null,
          rejected: position === null && reason !== '' ? reason : null,
        }),
      ),
    );

  it('come back', () => {
    fc.assert(fc.property(records, expectBack), { numRuns: 400 });
  });
});

function shuffled(fields: object, by: number): object {
  const entries = Object.entries(fields);
  const at = by % entries.length;
  return Object.fromEntries([...entries.slice(at), ...entries.slice(0, at)]);
}

function spliced(fields: object, at: number, text: string): string {
  const header = JSON.stringify(fields);
  const place = at % header.length;
  return header.slice(0, place) + text + header.slice(place + 1);
}

describe('what is no segment is refused', () => {
  const [record0, record1] = recordsOf([record(HEADER), record(HEADER)]) as [SegmentRecord, SegmentRecord];
  const encode = (records: readonly SegmentRecord[], partition = 0, chainBefore = CHAIN_START) =>
    encodeSegment({ partition: partition as Partition, records, chainBefore });

  it.each([
    ['there are none', () => encode([])],
    ['records[1].offset: 2 does not follow 0', () => encode([record0, { ...record1, offset: 2 as Offset }])],
    ['records[1].offset: 0 does not follow 0', () => encode([record0, { ...record1, offset: 0 as Offset }])],
    ['records[0].offset: -1', () => encode([{ ...record0, offset: -1 as Offset }])],
    ['records[0].position: 0.5', () => encode([{ ...record0, position: 0.5 as Position }])],
    ['both accepted and rejected', () => encode([{ ...record0, rejected: 'closed' }])],
    ['half a surrogate pair', () => encode([{ ...record0, position: null, rejected: '\ud800' }])],
    ['partition -1', () => encode([record0], -1)],
    ['partition 2147483648', () => encode([record0], 2 ** 31)],
    ['64 lower-case hex digits', () => encode([record0], 0, 'AB')],
  ])('%s', (message, act) => {
    expect(act).toThrow(InvalidError);
    expect(act).toThrow(message);
  });

  it('more than a segment may hold', () => {
    const value = Buffer.alloc(SEGMENT_RAW_MAX_BYTES / 2);
    const records = [0, 1, 2].map((offset) => ({ ...record0, offset: offset as Offset, value }));
    expect(() => encode(records)).toThrow(LimitError);
    expect(() => encode(records)).not.toThrow(CorruptError);
  });
});

describe('sealed records', () => {
  const key = { id: '01890000-0000-7000-8000-000000000001', key: createSecretKey(new Uint8Array(32).fill(7)) };
  const sealed = sampleRecords().map((record) => ({ ...record, value: sealRecord(record.value, key) }));

  it('come back byte for byte, with clear columns and no second header', () => {
    const { bytes } = encodeSegment({ partition: 0 as Partition, records: sealed, chainBefore: CHAIN_START });
    const { records } = decodeSegment(bytes);
    for (const [at, { value }] of records.entries()) expect(Buffer.compare(value, sealed[at]!.value)).toBe(0);
    expect(Buffer.from(bytes).includes(Buffer.from('"payload":"sealed"'))).toBe(false);
  });
});
