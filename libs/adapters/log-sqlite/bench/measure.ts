/**
 * Measures log-sqlite: `node libs/adapters/log-sqlite/bench/measure.ts [FOLDER] [--json]`. FOLDER should lie on a real disk; it creates and
 * removes a folder inside it. Prints the figures of docs/decisions/0003. It is not part of the library.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { offset, partition } from '@tidemark/core';
import type { EventLog, LogRecord } from '@tidemark/ports';
import { openSqliteLog } from '../src/index.ts';

const asJson = process.argv.includes('--json');
const parent = process.argv.slice(2).find((argument) => !argument.startsWith('--')) ?? process.cwd();
const folder = mkdtempSync(path.join(parent, '.measure-'));
const record: LogRecord = { value: Buffer.alloc(1024, 'x'), type: 'CheckpointCommitted' };

function report(name: string, value: number, unit: string): void {
  const rounded = Number(value.toPrecision(4));
  console.log(asJson ? JSON.stringify({ name, value: rounded, unit }) : `${name.padEnd(46)} ${rounded} ${unit}`);
}

function reportTimes(name: string, timesMs: number[]): void {
  timesMs.sort((a, b) => a - b);
  report(`${name}.p10_ms`, timesMs[Math.floor(timesMs.length * 0.1)]!, 'ms');
  report(`${name}.median_ms`, timesMs[Math.floor(timesMs.length / 2)]!, 'ms');
  report(`${name}.p99_ms`, timesMs[Math.floor(timesMs.length * 0.99)]!, 'ms');
}

async function timed(count: number, work: (index: number) => unknown): Promise<number[]> {
  const timesMs: number[] = [];
  for (let index = 0; index < count; index++) {
    const startMs = performance.now();
    await work(index);
    timesMs.push(performance.now() - startMs);
  }
  return timesMs;
}

/** What SQLite itself needs to insert a kilobyte and commit, and what the same costs through a worker thread. */
async function raw(): Promise<void> {
  const setup = `
    const { DatabaseSync } = require('node:sqlite');
    const database = new DatabaseSync(file);
    database.exec('pragma page_size = 8192; pragma journal_mode = wal; pragma locking_mode = exclusive; pragma synchronous = full');
    database.exec('create table r (id integer primary key, value blob)');
    const insert = database.prepare('insert into r (value) values (?)');`;
  const worker = new Worker(
    `const { parentPort, workerData } = require('node:worker_threads'); const file = workerData; ${setup}
     parentPort.on('message', (values) => {
       database.exec('begin'); for (const value of values) insert.run(value); database.exec('commit');
       parentPort.postMessage(values.length);
     });`,
    { eval: true, workerData: path.join(folder, 'worker.db') },
  );
  const ask = (values: readonly Uint8Array[]) =>
    new Promise((resolve) => {
      worker.once('message', resolve);
      worker.postMessage(values);
    });
  const database = new DatabaseSync(path.join(folder, 'raw.db'));
  database.exec(
    'pragma page_size = 8192; pragma journal_mode = wal; pragma locking_mode = exclusive; pragma synchronous = full',
  );
  database.exec('create table r (id integer primary key, value blob)');
  const insert = database.prepare('insert into r (value) values (?)');
  await timed(500, () => insert.run(record.value));
  reportTimes('raw_commit', await timed(3_000, () => insert.run(record.value)));
  await timed(500, () => ask([record.value]));
  reportTimes('raw_commit_in_worker', await timed(3_000, () => ask([record.value])));
  const many = Array.from({ length: 1_000 }, () => record.value);
  reportTimes('worker_1000_records', await timed(30, () => ask(many)));
  database.close();
  await worker.terminate();
}

async function concurrent(name: string, log: EventLog, appenders: number, each: number): Promise<void> {
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const run = async (index: number): Promise<void> => {
    for (let left = each; left > 0; left--) await log.append(partition(index), [record]);
  };
  await Promise.all(Array.from({ length: appenders }, (_, index) => run(index)));
  const { user, system } = process.cpuUsage(cpu);
  report(`${name}.records_per_s`, (appenders * each * 1000) / (performance.now() - startMs), 'records/s');
  report(`${name}.cpu_us_per_record`, (user + system) / (appenders * each), 'µs');
}

async function measure(synchronous: 'full' | 'normal'): Promise<void> {
  const log = await openSqliteLog({ folder: path.join(folder, synchronous), partitions: 4_000, synchronous });
  const append = () => log.append(partition(0), [record]);
  await timed(500, append);
  reportTimes(`${synchronous}.append_sequential`, await timed(5_000, append));
  await concurrent(`${synchronous}.append_c1000`, log, 1_000, 50);
  reportTimes(
    `${synchronous}.read_one`,
    await timed(5_000, (index) =>
      log.read([{ partition: partition(index % 1_000), from: offset(10) }], { maxBytes: 1 }),
    ),
  );
  reportTimes(`${synchronous}.bounds_all`, await timed(100, () => log.bounds()));
  reportTimes(`${synchronous}.trim_40`, await timed(100, (index) => log.trim(partition(index + 1), offset(40))));
  await log.close();
  const again = performance.now();
  await (await openSqliteLog({ folder: path.join(folder, synchronous) })).close();
  report(`${synchronous}.open_and_close_ms`, performance.now() - again, 'ms');
}

try {
  await raw();
  await measure('full');
  await measure('normal');
} finally {
  rmSync(folder, { recursive: true, force: true });
}
