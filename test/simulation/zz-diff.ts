import { isDeepStrictEqual } from 'node:util';
import { emptyPartition } from '@tidemark/core';
import { ProjectionBuilder } from '@tidemark/runtime/internals';
import { naivePartitionView, partitionView } from '@tidemark/testkit/naive/view';
import { simulate } from '@tidemark/testkit/simulation';
import * as judge from '@tidemark/testkit/simulation/judge';
import { SeededRandom } from '@tidemark/testkit/simulation/random';
import { Witness } from '@tidemark/testkit/simulation/witness';

const [seed, w, f] = process.argv.slice(2);
let wit: any;
const orig = Witness.prototype.store;
Witness.prototype.store = function (...a: any) {
  wit = this;
  return (orig as any).apply(this, a);
} as any;
const diff = (a: any, b: any, path = ''): void => {
  if (isDeepStrictEqual(a, b)) return;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) {
    console.log(path, JSON.stringify(a), '!=', JSON.stringify(b));
    return;
  }
  for (const k of new Set([...Object.keys(a), ...Object.keys(b)])) diff(a[k], b[k], `${path}.${k}`);
};
const r = await simulate({
  seed: Number(seed),
  workloads: w === '-' ? undefined : (w.split(',') as any),
  faults: f === undefined ? undefined : f === 'none' ? [] : (f.split(',') as any),
});
console.log(r.violations);
for (const h of wit.histories.values()) {
  const b = new ProjectionBuilder();
  const state = b.fold(emptyPartition(h.partition, 0 as any), h.entries);
  diff(naivePartitionView(h.naive), partitionView(state), `p${h.partition}`);
}
