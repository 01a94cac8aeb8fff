/**
 * Owns inspecting a log's files before SQLite opens them: who wrote them, which version, and whether they are damaged. It only reads, and
 * never through a connection that could change a byte: merely opening a foreign or newer file for writing would move its write-ahead log
 * into it.
 */

import { closeSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { ConfigError, CorruptError, messageOf } from '@tidemark/core';
import { UPGRADES } from './sql/schema.ts';
import { damaged } from './sqlite-errors.ts';

/** "tide" in ASCII: marks the file as a Tidemark log. */
export const APPLICATION_ID = 0x74696465;
/** Format of the tables. A greater one was written by a newer Tidemark. */
export const FORMAT_VERSION = 1 + UPGRADES.length;

const MAGIC = 'SQLite format 3\0';
const HEADER_BYTES = 100;
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;
const WAL_HEADER_BYTES = 32;
const WAL_FRAME_BYTES = 24;

/** Size of a file in bytes; 0 when there is none. */
const fileBytes = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0;

/** Throws `ConfigError` `log-foreign` or `log-newer`, `CorruptError` `log-damaged`. Returns whether there is a log at all. */
export function inspectHeader(folder: string, file: string): boolean {
  const size = fileBytes(file);
  if (statSync(file, { throwIfNoEntry: false }) === undefined) return false;
  const header = readBytes(file, 0, HEADER_BYTES);
  if (size < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC) {
    throw damaged(folder, `${file} does not begin like a SQLite database`);
  }
  if (header.readUInt32BE(APPLICATION_ID_AT) !== APPLICATION_ID) {
    throw new ConfigError('log-foreign', `${file} is not a Tidemark log; choose another folder. Nothing was changed.`, {
      folder,
    });
  }
  const version = Math.max(header.readUInt32BE(USER_VERSION_AT), versionInWal(`${file}-wal`));
  if (version > FORMAT_VERSION) {
    const message = `The log in ${folder} has format ${version}; this version of Tidemark reads ${FORMAT_VERSION}. Nothing was changed.`;
    throw new ConfigError('log-newer', message, { folder, found: version, known: FORMAT_VERSION });
  }
  return true;
}

/** The greatest version in the write-ahead log, or 0. A newer process that was killed may have written its version there alone. */
function versionInWal(wal: string): number {
  const size = fileBytes(wal);
  if (size < WAL_HEADER_BYTES + WAL_FRAME_BYTES) return 0;
  const header = readBytes(wal, 0, WAL_HEADER_BYTES);
  const pageBytes = header.readUInt32BE(8);
  if (pageBytes < 512 || pageBytes > 65_536) return 0;
  let version = 0;
  for (let at = WAL_HEADER_BYTES; at + WAL_FRAME_BYTES + HEADER_BYTES <= size; at += WAL_FRAME_BYTES + pageBytes) {
    const frame = readBytes(wal, at, WAL_FRAME_BYTES + HEADER_BYTES);
    const isCurrent = frame.compare(header, 16, 24, 8, 16) === 0; // salts; others are left from before a reset
    if (frame.readUInt32BE(0) === 1 && isCurrent) {
      version = Math.max(version, frame.readUInt32BE(WAL_FRAME_BYTES + USER_VERSION_AT));
    }
  }
  return version;
}

/**
 * Checks the structure of the file, whole when it is no larger than `checkMaxBytes`. The caller holds the folder's lock. Throws
 * `CorruptError` `log-damaged`, with every file unchanged.
 */
export function checkStructure(folder: string, file: string, checkMaxBytes: number): void {
  const hasWal = fileBytes(`${file}-wal`) > 0;
  const hadShm = fileBytes(`${file}-shm`) > 0;
  const isWhole = fileBytes(file) + fileBytes(`${file}-wal`) <= checkMaxBytes;
  // Without a write-ahead log only the file counts; with one SQLite must read both, and may write neither.
  const database = new DatabaseSync(hasWal ? file : immutableUrl(file), { readOnly: true });
  try {
    const found = database.prepare(isWhole ? 'pragma quick_check(1)' : 'pragma schema_version').get();
    const verdict = Object.values(found ?? {})[0];
    if (isWhole && verdict !== 'ok') throw damaged(folder, String(verdict));
    database.prepare('select partition, start from partitions limit 1').get();
    database.prepare('select crc from records indexed by records_by_offset where partition = 0 limit 1').get();
  } catch (error) {
    if (error instanceof CorruptError) throw error;
    throw damaged(folder, messageOf(error), error);
  } finally {
    database.close();
    if (!hadShm) rmSync(`${file}-shm`, { force: true });
  }
}

function immutableUrl(file: string): URL {
  const url = pathToFileURL(file);
  url.searchParams.set('immutable', '1');
  return url;
}

function readBytes(file: string, at: number, count: number): Buffer {
  const descriptor = openSync(file, 'r');
  try {
    const bytes = Buffer.alloc(count);
    readSync(descriptor, bytes, 0, count, at);
    return bytes;
  } finally {
    closeSync(descriptor);
  }
}
