/** Owns the sharing of a range of seeds among threads, in small parts, so that none is left with the slow ones. */

import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { noTotals, type Range, runRange, type SeedFailure, type Totals } from './range.ts';

const PART_COUNT = 50;

export async function runShared(
  { from, count, ...options }: Range,
  threads: number,
  tell: (failure: SeedFailure) => void,
): Promise<Totals> {
  const parts: Range[] = [];
  for (let at = 0; at < count; at += PART_COUNT)
    parts.push({ ...options, from: from + at, count: Math.min(PART_COUNT, count - at) });
  const totals = noTotals();
  const add = ({ failures, ...sums }: Totals): void => {
    for (const failure of failures) tell(failure);
    totals.failures.push(...failures);
    for (const name of Object.keys(sums) as (keyof typeof sums)[]) totals[name] += sums[name];
  };
  await Promise.all(Array.from({ length: Math.min(threads, parts.length) }, () => work(parts, add)));
  return totals;
}

async function work(parts: Range[], add: (totals: Totals) => void): Promise<void> {
  const worker = new Worker(new URL(import.meta.url));
  try {
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      const { promise, resolve, reject } = Promise.withResolvers<Totals>();
      worker.once('message', resolve).once('error', reject);
      worker.postMessage(part);
      add(await promise);
      worker.removeAllListeners();
    }
  } finally {
    await worker.terminate();
  }
}

if (!isMainThread) {
  parentPort!.on('message', (part: Range) => {
    void runRange(part, () => {}).then((totals) => parentPort!.postMessage(totals));
  });
}
