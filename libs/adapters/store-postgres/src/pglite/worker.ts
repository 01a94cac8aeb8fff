/**
 * Owns PGlite inside its thread: starts it, passes protocol messages in and answers out, and does the upkeep for which a Postgres server
 * has background processes. PGlite has a thread of its own, since a batch keeps it busy for tens of milliseconds, in which the process has
 * steps to run and a log to write.
 */

import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import v8 from 'node:v8';
import { parentPort, workerData } from 'node:worker_threads';
import { PGlite } from '@electric-sql/pglite';
import { OTHER_TABLES, RENAME_TABLES } from '../sql/rebuild/empty-tables.ts';
import { forgetTemplate, keepTemplate, readTemplate, unpackTemplate } from './template.ts';
import type { FromThread, ThreadData, ToThread } from './thread.ts';

/** Pages that PGlite keeps in its memory, all of which it writes to when it starts; the system's cache holds the files. */
const PGLITE_BUFFERS_KB = 16 * 1024;
/** Bytes of statements after which PGlite, which has no background processes, vacuums and writes a checkpoint. */
const PGLITE_UPKEEP_BYTES = 64 * 1024 * 1024;

/** Tables whose rows come and go. Without checkpoints the write-ahead log would grow without bound. */
const UPKEEP = [
  'vacuum partitions, workflows, tasks, effects, timers, placements, memories, memory_embeddings, spends, spend_hours',
  'checkpoint',
];
/**
 * Small segments halve the disk (30 MB) and what is written while the folder is created. No segment is recycled, or the bytes of deleted
 * rows would lie in it until it is overwritten (see scrub-tables.ts).
 */
const CREATE = ['--wal-segsize=1', '--no-sync', '--set=wal_recycle=off'];
/** PGlite's own arguments, with fewer shared buffers: it writes to all of them when it starts (128 MB by default). */
const START = [...PGlite.defaultStartParams, '-c', `shared_buffers=${PGLITE_BUFFERS_KB}kB`];
/** The last byte of an answer outside of a transaction: `ReadyForQuery` with status idle. */
const IDLE = 'I'.charCodeAt(0);
/** The last lines that PGlite prints while it starts, for the error when it fails to. */
const LINES_MAX = 20;

// PGlite evaluates text of the libraries that a database's functions name, and a folder's rows may be a stranger's: none brings any here.
globalThis.eval = () => {
  throw new Error('no text is run as code beside the rows of a folder');
};

const port = parentPort!;
const say = (message: FromThread, transfer: readonly ArrayBuffer[] = []): void =>
  port.postMessage(message, [...transfer]);

const printed: string[] = [];
const print = (text: string): boolean => {
  printed.push(text.trim());
  if (printed.length > LINES_MAX) printed.shift();
  return false;
};

let bytesSinceUpkeep = 0;

async function answer(database: PGlite, bytes: Uint8Array): Promise<void> {
  const parts: Uint8Array[] = [];
  await database.execProtocolRawStream(bytes, {
    syncToFs: false,
    // A view of PGlite's memory, valid during this call.
    onRawData: (part) => void parts.push(part.slice()),
  });
  const whole = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  const idle = whole.at(-1) === IDLE;
  const own = whole.byteOffset === 0 && whole.byteLength === whole.buffer.byteLength ? whole : new Uint8Array(whole);
  say({ kind: 'bytes', bytes: own }, [own.buffer as ArrayBuffer]);
  bytesSinceUpkeep += bytes.byteLength;
  if (idle && bytesSinceUpkeep >= PGLITE_UPKEEP_BYTES) {
    bytesSinceUpkeep = 0;
    for (const statement of UPKEEP) await database.exec(statement);
  }
}

interface Opened {
  readonly database: PGlite;
  /** Whether the database holds nothing but what Postgres itself creates. */
  readonly isBare: boolean;
}

/** Opens the database, or creates it, from the template where there is one. */
async function open({ dataFolder, tables }: ThreadData): Promise<Opened> {
  const isNew = dataFolder === null || !existsSync(path.join(dataFolder, 'PG_VERSION'));
  const template = isNew && tables !== null ? readTemplate(tables) : undefined;
  if (template !== undefined) {
    try {
      if (dataFolder !== null) unpackTemplate(template, dataFolder);
      const database = await start(dataFolder, dataFolder === null ? new Blob([template]) : undefined);
      await database.exec(RENAME_TABLES);
      return { database, isBare: false };
    } catch {
      // A broken template must not be reported as a broken folder.
      forgetTemplate(tables!);
      if (dataFolder !== null) rmSync(dataFolder, { recursive: true, force: true });
      printed.length = 0;
    }
  }
  return { database: await start(dataFolder, undefined), isBare: isNew };
}

/**
 * What PGlite compiles while it starts is never optimised, and what the process compiles later is as ever. Postgres's grammar alone would take
 * V8's optimising compiler 600 MB and half a second, for statements that are parsed once (decision 0083).
 */
async function start(dataFolder: string | null, template: Blob | undefined): Promise<PGlite> {
  v8.setFlagsFromString('--no-wasm-tier-up');
  v8.setFlagsFromString('--no-wasm-dynamic-tiering');
  const database = new PGlite({
    ...(dataFolder === null ? {} : { dataDir: dataFolder }),
    ...(template === undefined ? {} : { loadDataDir: template }),
    relaxedDurability: true,
    initDbStartParams: CREATE,
    startParams: START,
    onStdout: print,
    onStderr: print,
  });
  try {
    await database.waitReady;
    return database;
  } finally {
    v8.setFlagsFromString('--wasm-dynamic-tiering');
    v8.setFlagsFromString('--wasm-tier-up');
  }
}

/** Whether the tables hold anyone's data. Rows that the migrations insert are the same everywhere and don't count. */
async function hasNoRows(database: PGlite): Promise<boolean> {
  const { rows: tables } = await database.query<{ name: string }>(OTHER_TABLES);
  for (const { name } of tables) {
    const { rows } = await database.query(`select from ${name} limit 1`);
    if (rows.length > 0) return false;
  }
  return true;
}

async function main(given: ThreadData): Promise<void> {
  let database: PGlite;
  let isBare: boolean;
  try {
    ({ database, isBare } = await open(given));
  } catch (error) {
    say({ kind: 'failed', message: [String(error), ...printed].join('\n') });
    return;
  }
  let last = Promise.resolve();
  port.on('message', (message: ToThread) => {
    // An error here ends PGlite: it leaves as the thread's error.
    last = last.then(() =>
      message.kind === 'bytes' ? answer(database, message.bytes) : { stop, keep }[message.kind](),
    );
  });
  async function keep(): Promise<void> {
    if (isBare && given.tables !== null && (await hasNoRows(database))) await keepTemplate(database, given.tables);
    isBare = false;
  }
  async function stop(): Promise<void> {
    await database.close();
    say({ kind: 'stopped' });
    port.close();
  }
  say({ kind: 'ready' });
}

await main(workerData as ThreadData);
