import { partition } from '@tidemark/core';
import { openKafkaLog } from '../src/index.ts';

const N = Number(process.argv[3] ?? 1000),
  each = Number(process.argv[4] ?? 100);
const log = await openKafkaLog({
  brokers: ['127.0.0.1:29092'],
  topic: process.argv[2]!,
  partitions: N,
  limits: JSON.parse(process.argv[5] ?? '{}'),
});
const record = { value: Buffer.alloc(1024, 'x'), type: 'CheckpointCommitted' };
const run = async (i: number, n: number) => {
  for (; n > 0; n--) await log.append(partition(i), [record]);
};
const round = async (n: number) => {
  const c = process.cpuUsage();
  const t = performance.now();
  await Promise.all(Array.from({ length: Math.min(N, 1000) }, (_, i) => run(i, n)));
  const el = performance.now() - t;
  const u = process.cpuUsage(c);
  return [
    Math.round((Math.min(N, 1000) * n * 1000) / el),
    ((u.user + u.system) / (Math.min(N, 1000) * n)).toFixed(2),
  ].join('/s cpu ');
};
console.log('warm', await round(20));
for (let i = 0; i < 4; i++) console.log(await round(each));
await log.close();
