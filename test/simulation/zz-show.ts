import { simulate } from '@tidemark/testkit/simulation';

const [seed, w, f, wf] = process.argv.slice(2);
const r = await simulate({
  seed: Number(seed),
  workloads: !w || w === '-' ? undefined : (w.split(',') as any),
  faults: f === undefined || f === '-' ? undefined : f === 'none' ? [] : (f.split(',') as any),
});
console.log(r.transcript.filter((l) => !wf || l.includes(wf)).join('\n'));
console.log(r.violations);
