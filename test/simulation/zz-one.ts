import { simulate } from '@tidemark/testkit/simulation';

const [from, n, w, f] = process.argv.slice(2);
for (let seed = Number(from); seed < Number(from) + Number(n); seed++) {
  const t = performance.now();
  const r = await simulate({
    seed,
    ...(w && w !== '-' ? { workloads: w.split(',') as never } : {}),
    ...(f !== undefined ? { faults: (f === 'none' ? [] : f.split(',')) as never } : {}),
  });
  console.log(
    seed,
    r.violations.length,
    Math.round(performance.now() - t) + 'ms',
    Math.round(r.virtualMs),
    r.eventCount,
    r.parkedCount,
    r.violations.slice(0, 2).join(' | ').slice(0, 400),
  );
}
