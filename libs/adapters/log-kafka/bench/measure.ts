/**
 * Measures log-kafka against a broker: `node libs/adapters/log-kafka/bench/measure.ts HOST:PORT [--json]`. Prints the figures of
 * docs/decisions/0003. It is not part of the library; it names its topics `measure-…` and removes them.
 */

import { type Offset, offset, type Partition, partition } from '@tidemark/core';
import type { EventLog, LogRecord } from '@tidemark/ports';
import kafkajs from 'kafkajs';
import { openKafkaLog } from '../src/index.ts';

const asJson = process.argv.includes('--json');
const broker = process.argv[2] ?? '127.0.0.1:9092';
const record: LogRecord = { value: Buffer.alloc(1024, 'x'), type: 'CheckpointCommitted' };

function report(name: string, value: number, unit: string): void {
  const rounded = Number(value.toPrecision(4));
  console.log(asJson ? JSON.stringify({ name, value: rounded, unit }) : `${name.padEnd(46)} ${rounded} ${unit}`);
}

function reportTimes(name: string, timesMs: number[]): void {
  timesMs.sort((a, b) => a - b);
  report(`${name}.median_ms`, timesMs[Math.floor(timesMs.length / 2)]!, 'ms');
  report(`${name}.p99_ms`, timesMs[Math.floor(timesMs.length * 0.99)]!, 'ms');
}

async function timed(count: number, work: (index: number) => Promise<unknown>): Promise<number[]> {
  const timesMs: number[] = [];
  for (let index = 0; index < count; index++) {
    const startMs = performance.now();
    await work(index);
    timesMs.push(performance.now() - startMs);
  }
  return timesMs;
}

/** Many appenders, each awaiting one append after another to its own partition. */
async function concurrent(name: string, log: EventLog, appenders: number, each: number): Promise<void> {
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  const run = async (index: number): Promise<void> => {
    for (let left = each; left > 0; left--) await log.append(partition(index), [record]);
  };
  await Promise.all(Array.from({ length: appenders }, (_, index) => run(index)));
  const tookMs = performance.now() - startMs;
  const { user, system } = process.cpuUsage(cpu);
  report(`${name}.records_per_s`, (appenders * each * 1000) / tookMs, 'records/s');
  report(`${name}.cpu_us_per_record`, (user + system) / (appenders * each), 'µs');
}

async function reads(name: string, log: EventLog, partitions: number): Promise<void> {
  const ends = await log.bounds();
  const last = (index: number): Offset => offset(Math.max(0, ends.get(partition(index % partitions))!.end - 1));
  const one = (index: number) => log.read([{ partition: partition(index % partitions), from: last(index) }]);
  await timed(500, one);
  reportTimes(`${name}.read_one`, await timed(2_000, one));
  const many = Array.from({ length: 100 }, (_, index) => ({ partition: index as Partition, from: last(index) }));
  reportTimes(`${name}.read_100_partitions`, await timed(300, () => log.read(many)));
  await timed(10, () => log.bounds());
  const cpu = process.cpuUsage();
  const times = await timed(50, () => log.bounds());
  const { user, system } = process.cpuUsage(cpu);
  reportTimes(`${name}.bounds_all`, times);
  report(`${name}.bounds_all.cpu_ms`, (user + system) / 50_000, 'ms');
}

async function trims(name: string, log: EventLog): Promise<void> {
  reportTimes(`${name}.trim`, await timed(100, (index) => log.trim(partition(index), offset(1))));
}

async function bigRead(name: string, log: EventLog): Promise<void> {
  const target = partition(0);
  const { start, end } = (await log.bounds([target])).get(target)!;
  const cpu = process.cpuUsage();
  const startMs = performance.now();
  let count = 0;
  for (let from: number = start; from < end; ) {
    const [result] = await log.read([{ partition: target, from: offset(from) }], { maxBytes: 1024 * 1024 });
    count += result!.records.length;
    from += result!.records.length;
  }
  const { user, system } = process.cpuUsage(cpu);
  report(`${name}.read_in_order.records_per_s`, (count * 1000) / (performance.now() - startMs), 'records/s');
  report(`${name}.read_in_order.cpu_us_per_record`, (user + system) / count, 'µs');
}

async function all(partitions: number): Promise<void> {
  const topic = `measure-${partitions}-${Date.now()}`;
  const log = await openKafkaLog({ brokers: [broker], topic, partitions });
  const name = `p${partitions}`;
  const append = () => log.append(partition(0), [record]);
  await timed(1_000, append);
  reportTimes(`${name}.append_sequential`, await timed(5_000, append));
  const appenders = Math.min(1_000, partitions);
  await concurrent(`${name}.warm`, log, appenders, 20);
  await concurrent(`${name}.append_c${appenders}`, log, appenders, 100);
  await reads(name, log, partitions);
  await bigRead(name, log);
  await trims(name, log);
  await log.close();
  await remove(topic);
}

/** Thousands of unused partitions would slow down the next measurement. */
async function remove(topic: string): Promise<void> {
  const admin = new kafkajs.Kafka({ brokers: [broker], logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  await admin.deleteTopics({ topics: [topic] });
  await admin.disconnect();
}

await all(1_000);
await all(4_000);
