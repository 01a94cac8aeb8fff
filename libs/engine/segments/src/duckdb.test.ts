/**
 * Owns the test that DuckDB queries an archive's segments in their folder, with the very SQL of the documentation, and needs no code of
 * ours.
 */

import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type DuckDBConnection, DuckDBInstance } from '@duckdb/node-api';
import type { Offset, Partition } from '@tidemark/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CHAIN_START } from './chain.ts';
import { encodeSegment, type SegmentRecord } from './encode-segment.ts';
import { segmentName } from './names.ts';
import { recordsOf, sampleRecords } from './sample-records-fixture.ts';

const documentation = fileURLToPath(new URL('../../../../docs/retention.md', import.meta.url));

const queries = {
  types: `SELECT type, count(*) AS events
FROM 'archive/segments/*/*.parquet'
WHERE position IS NOT NULL
GROUP BY type ORDER BY events DESC, type;`,
  steps: `SELECT step, count(*) AS runs, sum(tokens)::BIGINT AS tokens, sum(cost_micros) / 1e6 AS usd
FROM 'archive/segments/*/*.parquet'
WHERE type = 'CheckpointCommitted' AND position IS NOT NULL
GROUP BY step ORDER BY usd DESC;`,
  outputs: `SELECT sequence, step, payload->>'$.output.source' AS source, (payload->>'$.output.found')::INTEGER AS found
FROM 'archive/segments/*/*.parquet'
WHERE workflow = 'report-1' AND type = 'CheckpointCommitted' AND position IS NOT NULL AND payload_encoding = 'json'
ORDER BY sequence;`,
  rejected: `SELECT workflow, log_offset, type, sequence, rejected
FROM 'archive/segments/*/*.parquet'
WHERE rejected IS NOT NULL ORDER BY partition, log_offset;`,
  partition: `SELECT partition, count(*) AS records, max(log_offset) AS last_offset, max(written_at) AS last_written
FROM read_parquet('archive/segments/*/*.parquet', hive_types = {'partition': INTEGER})
WHERE partition = 12
GROUP BY partition;`,
  chain: `SELECT value::VARCHAR AS chain_after
FROM parquet_kv_metadata('archive/segments/partition=00012/*.parquet')
WHERE key = 'tidemark.chain_after' AND value NOT IN
  (SELECT value FROM parquet_kv_metadata('archive/segments/partition=00012/*.parquet') WHERE key = 'tidemark.chain_before');`,
};

let folder: string;
let duck: DuckDBConnection;
let chain = CHAIN_START;

async function archive(partition: number, records: readonly SegmentRecord[], chainBefore: string): Promise<string> {
  const place = partition as Partition;
  const { bytes, chainAfter } = encodeSegment({ partition: place, records, chainBefore });
  const from = records[0]!.offset;
  const name = segmentName(place, from, (from + records.length) as Offset, hash('sha256', bytes));
  const file = path.join(folder, 'archive', name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, bytes);
  return chainAfter;
}

async function rowsOf(sql: string): Promise<readonly unknown[]> {
  const result = await duck.runAndReadAll(sql);
  return result.getRowsJson();
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-segments-'));
  await archive(3, sampleRecords('report-2', 'review-8'), CHAIN_START);
  const records = sampleRecords();
  chain = await archive(12, records.slice(0, 10), CHAIN_START);
  chain = await archive(12, records.slice(10), chain);
  duck = await (await DuckDBInstance.create(':memory:')).connect();
  await duck.run(`SET file_search_path = '${folder}'; SET TimeZone = 'UTC';`);
});
afterAll(async () => {
  duck.closeSync();
  await rm(folder, { recursive: true, force: true });
});

describe('DuckDB', () => {
  it('counts events by type, without those that count for nothing', async () => {
    expect(await rowsOf(queries.types)).toEqual([
      ['CheckpointCommitted', '10'],
      ['EffectIntended', '10'],
      ['EffectResolved', '10'],
      ['LeaseClaimed', '4'],
      ['WorkflowCompleted', '4'],
      ['WorkflowOpened', '4'],
    ]);
  });

  it('sums tokens and cost by step', async () => {
    expect(await rowsOf(queries.steps)).toEqual([
      ['research', '4', '10400', 0.0312],
      ['write', '2', '3810', 0.02286],
      ['plan', '4', '1600', 0.0048],
    ]);
  });

  it('looks into payloads', async () => {
    expect(await rowsOf(queries.outputs)).toEqual([
      ['1', 'plan', null, null],
      ['2', 'research', 'docs/guarantees.md', 7],
      ['3', 'write', null, null],
    ]);
    const titles = `SELECT payload->>'$.output.title' FROM 'archive/segments/*/*.parquet' WHERE log_offset = 10 AND partition = 12`;
    expect(await rowsOf(titles)).toEqual([['Überblick']]);
  });

  it('looks into what the system goes by', async () => {
    const calls = `SELECT operation, count(*), sum((control->>'$.spent.tokens')::BIGINT) FROM 'archive/segments/*/*.parquet'`;
    const done = await rowsOf(`${calls} WHERE type = 'EffectResolved' AND outcome = 'done' GROUP BY operation`);
    expect(done).toEqual([['model', '10', '15810']]);
  });

  it('tells what was rejected, and why', async () => {
    expect(await rowsOf(queries.rejected)).toEqual([
      ['report-2', '21', 'CheckpointCommitted', '3', 'closed'],
      ['report-1', '21', 'CheckpointCommitted', '3', 'closed'],
    ]);
  });

  it('knows the partition from the path, and opens no file of another', async () => {
    expect(await rowsOf(queries.partition)).toEqual([[12, '22', '21', '2026-11-02 09:00:31.5+00']]);
    const [[, plan]] = (await rowsOf(`EXPLAIN ANALYZE ${queries.partition}`)) as [[string, string]];
    expect(plan).toContain('Scanning Files: 2/3');
  });

  it('tells where the chain of a partition ends', async () => {
    expect(await rowsOf(queries.chain)).toEqual([[chain]]);
  });

  it('has the columns as they are typed', async () => {
    const described = await rowsOf(
      `SELECT column_type, list(column_name) FROM (DESCRIBE SELECT * FROM read_parquet('archive/segments/*/*.parquet', hive_partitioning = false)) GROUP BY column_type ORDER BY column_type`,
    );
    expect(described).toEqual([
      ['BIGINT', ['log_offset', 'generation', 'position', 'lamport', 'epoch', 'ordinal', 'sequence']],
      ['BLOB', ['payload_bytes', 'raw']],
      ['DOUBLE', ['tokens', 'cost_micros']],
      ['INTEGER', ['partition']],
      ['TIMESTAMP WITH TIME ZONE', ['written_at']],
      ['VARCHAR', expect.arrayContaining(['workflow', 'type', 'control', 'payload', 'rejected', 'step', 'outcome'])],
    ]);
  });

  it('is not stopped by records of any bytes', async () => {
    const hostile = [
      '',
      '\0',
      'no header',
      `${'{'.repeat(100)}\n{`,
      Buffer.from([0xff, 0x0a, 0xfe]),
      Buffer.from('x\ny\0'),
    ];
    await archive(99, recordsOf(hostile), CHAIN_START);
    const all = `SELECT count(*), count(workflow), count(raw), count(payload), count(payload_bytes), count(control->>'$.a')`;
    const from = `FROM read_parquet('archive/segments/*/*.parquet', hive_types = {'partition': INTEGER}) WHERE partition = 99`;
    expect(await rowsOf(`${all} ${from}`)).toEqual([['6', '0', '6', '1', '2', '0']]);
    const bytes = await duck.runAndReadAll(
      `SELECT raw || CASE WHEN payload IS NULL AND payload_bytes IS NULL THEN ''::BLOB ELSE '\\x0A'::BLOB END || coalesce(payload_bytes, encode(payload), ''::BLOB) ${from} ORDER BY log_offset`,
    );
    expect(bytes.getRows().map(([value]) => Buffer.from((value as { bytes: Uint8Array }).bytes))).toEqual(
      hostile.map((value) => Buffer.from(value)),
    );
  });

  it.runIf(existsSync(documentation))('is asked what the documentation says', async () => {
    const text = await readFile(documentation, 'utf8');
    for (const query of Object.values(queries)) expect(text).toContain(query);
  });
});
