/**
 * Owns how small history becomes in segments: of an audit of this project's own source, and of a session with a model; beside the same
 * records as lines of JSON, compressed with zstd at the level that segments use for payloads.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { constants, zstdCompressSync } from 'node:zlib';
import type { Offset, Partition } from '@tidemark/core';
import { type Host, openEmbedded } from '@tidemark/host';
import { AuditProcess } from '../../e2e/audit-process.ts';
import { runSession } from '../context-session.ts';
import type { Report } from '../report.ts';
import { BulkLog } from './log.ts';

const LIBRARIES = path.resolve(import.meta.dirname, '../../../libs');
const SESSION_TURNS = 200;
/** That of the payload column (libs/engine/segments/src/schema.ts). */
const ZSTD_LEVEL = 7;
const LINE_FEED = 0x0a;

export interface Sizes {
  readonly eventCount: number;
  readonly rawBytes: number;
  readonly segmentBytes: number;
  readonly linesBytes: number;
}

/** Whatever is sealed is held against what it would be in the log if it were not. */
export async function measureCompression(report: Report): Promise<void> {
  const percents: number[] = [];
  for (const [name, made] of [
    ['audit', auditHistory],
    ['session', sessionHistory],
  ] as const) {
    const { eventCount, rawBytes, segmentBytes, linesBytes } = await inFolder((folder) => made(folder, {}));
    const sealed = await inFolder((folder) =>
      made(folder, { keysUrl: pathToFileURL(path.join(folder, 'keys.json')).href }),
    );
    const saved = (bytes: number, of = rawBytes): number => (1 - bytes / of) * 100;
    report.note(`${name}: ${eventCount} events, ${rawBytes} bytes as the log holds them, ${segmentBytes} in segments`);
    report.note(`${name}, sealed: ${sealed.eventCount} events, ${sealed.segmentBytes} in segments`);
    percents.push(saved(segmentBytes));
    report.add(`tiers.compression_${name}_percent`, saved(segmentBytes), '%');
    report.add(`tiers.compression_${name}_ndjson_zstd_percent`, saved(linesBytes), '%');
    const sameCount = (rawBytes / eventCount) * sealed.eventCount;
    report.add(`tiers.compression_${name}_sealed_percent`, saved(sealed.segmentBytes, sameCount), '%');
  }
  // Of the two, the one that wins less.
  report.add('tiers.compression_percent', Math.min(...percents), '%');
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-tiers-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

interface Keys {
  readonly keysUrl?: string;
}

/** Of the command as a person runs it, without a model. */
async function auditHistory(folder: string, { keysUrl = '' }: Keys): Promise<Sizes> {
  const state = path.join(folder, 'state');
  const env = { TIDEMARK_KEYS_URL: keysUrl };
  const ended = await new AuditProcess([LIBRARIES, '--state', state, '--out', path.join(folder, 'out')], env).ended;
  if (ended.code !== 0) throw new Error(`the audit ended with ${ended.code}: ${ended.stderr}`);
  const host = await openEmbedded({ folder: state, keysUrl });
  try {
    return await sizesOf(host);
  } finally {
    await host.close();
  }
}

export async function sessionHistory(folder: string, { keysUrl }: Keys, turns = SESSION_TURNS): Promise<Sizes> {
  const { host } = await runSession(turns, folder, keysUrl);
  try {
    return await sizesOf(host);
  } finally {
    await host.close(1_000);
  }
}

/** Archives all that has ended, however little it is. */
async function sizesOf(host: Host): Promise<Sizes> {
  const log = new BulkLog(host);
  await log.inRows();
  const lines = new Map([...(await linesOf(host))]);
  const report = await log.archive({ hotMs: 1, segmentMinBytes: 1 });
  let linesBytes = 0;
  for (const [partition, { start }] of await host.tiers!.hot.bounds()) {
    const archived = lines.get(partition)?.slice(0, start) ?? [];
    if (archived.length > 0) linesBytes += compressed(archived);
  }
  return { eventCount: report.eventCount, rawBytes: report.rawBytes, segmentBytes: report.bytes, linesBytes };
}

const compressed = (lines: readonly string[]): number =>
  zstdCompressSync(lines.join(''), { params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL } }).length;

/** Each record as one line, by offset: what is known of it, and what it holds. */
async function linesOf({ ports: { log } }: Host): Promise<ReadonlyMap<Partition, readonly string[]>> {
  const found = new Map<Partition, string[]>();
  for (const [partition, { end }] of await log.bounds()) {
    const lines: string[] = [];
    while (lines.length < end) {
      const [read] = await log.read([{ partition, from: lines.length as Offset }]);
      for (const { value } of read!.records) lines.push(lineOf(Buffer.from(value)));
    }
    found.set(partition, lines);
  }
  return found;
}

function lineOf(value: Buffer): string {
  const end = value.indexOf(LINE_FEED);
  const payload = value.subarray(end + 1).toString();
  return `${value.subarray(0, end - 1).toString()},"body":${payload}}\n`;
}
