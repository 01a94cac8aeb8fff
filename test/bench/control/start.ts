/** `npm run bench -- control --only start`: a start over HTTP, from the call to its answer, one after the other and by many at once. */

import { median, type Report } from '../report.ts';
import { onCluster } from './cluster.ts';

const WARM_COUNT = 100;
const START_COUNT = 1_000;
const AT_ONCE = 16;
/** Nothing ends, and a pool that grows meanwhile is another measurement (`bench partitions`). */
const PARTITION_COUNT = 4_096;

export function measureStart(report: Report): Promise<void> {
  return onCluster({ worker: false, env: { TIDEMARK_PARTITIONS: String(PARTITION_COUNT) } }, async ({ client }) => {
    report.note(`control: ${START_COUNT} starts, one after the other, then ${AT_ONCE} at once; no worker`);
    const start = async (): Promise<number> => {
      const beganMs = performance.now();
      await client.start('bench-listener', { times: 1 });
      return performance.now() - beganMs;
    };
    for (let at = 0; at < WARM_COUNT; at++) await start();
    const took: number[] = [];
    for (let at = 0; at < START_COUNT; at++) took.push(await start());
    report.add('control.start.median_ms', median(took), 'ms');
    report.addTail('control.start.p99_ms', took, 'ms');
    const beganMs = performance.now();
    const many = Array.from({ length: AT_ONCE }, async () => {
      const times: number[] = [];
      for (let at = 0; at < START_COUNT / AT_ONCE; at++) times.push(await start());
      return times;
    });
    const times = (await Promise.all(many)).flat();
    report.add('control.start16.median_ms', median(times), 'ms');
    report.add('control.start16.per_second', (times.length / (performance.now() - beganMs)) * 1_000, '1/s');
  });
}
