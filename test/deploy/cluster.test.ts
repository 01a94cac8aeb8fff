/** How the check of the cluster judges (deploy/check/cluster/marks.ts), held against bad histories; and that it leaves nothing behind. */

import { type ChildProcess, spawn } from 'node:child_process';
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { eventually } from '@tidemark/testkit/eventually';
import { expect, test } from 'vitest';
import { gaugeOf } from '../../deploy/check/cluster/external-metrics.ts';
import {
  doubledSteps,
  lostSteps,
  type Mark,
  Outside,
  repeatedSteps,
  resumedAfterMs,
  type Seen,
  unevenShare,
} from '../../deploy/check/cluster/marks.ts';
import { projectFolder } from './deployment.ts';

/** `run step pod ms`, each an attempt. */
const seen = (...lines: readonly string[]): readonly Seen[] =>
  lines.map((line) => {
    const [run = '', step, pod = '', ms] = line.split(' ');
    return { run, step: Number(step), pod, sentMs: Number(ms), atMs: Number(ms) };
  });
const marked = (...lines: readonly string[]): readonly Mark[] =>
  seen(...lines).map((each) => ({ ...each, key: `${each.run}:${each.step}` }));

test('a step without a mark is lost, also the last one of a run', () => {
  const marks = marked('a-0 1 p 1', 'a-0 3 p 3');
  expect(lostSteps(new Map([['a-0', 3]]), marks)).toEqual(['a-0 2']);
  expect(lostSteps(new Map([['a-0', 4]]), marks)).toEqual(['a-0 2', 'a-0 4']);
});

test('a mark of another key is a second effect, one of the same key is not', () => {
  const [mark] = marked('a-0 1 p 1') as [Mark];
  expect(doubledSteps([mark, { ...mark, pod: 'q' }])).toEqual([]);
  expect(doubledSteps([mark, { ...mark, key: 'another' }])).toEqual(['a-0 1']);
});

test('a step may begin again only where its pod was lost with it in hand, and after that', () => {
  const again = seen('a-0 1 p 10', 'a-0 1 q 50');
  const killed = (pod: string, ms: number) => new Map([[pod, [{ fromMs: ms, untilMs: ms }]]]);
  expect(repeatedSteps(again, new Map())).toEqual(['a-0 1 by q after p']);
  expect(repeatedSteps(again, killed('q', 20))).toEqual(['a-0 1 by q after p']);
  expect(repeatedSteps(again, killed('p', 60))).toEqual(['a-0 1 by q after p']);
  // The container that was started in place of the killed one had it.
  expect(repeatedSteps(again, killed('p', 5))).toEqual(['a-0 1 by q after p']);
  expect(repeatedSteps(again, killed('p', 20))).toEqual([]);
});

test('a step that its pod had ended before it was lost is not in hand', () => {
  const attempts = seen('a-0 1 p 10', 'a-0 2 p 11', 'a-0 3 p 12', 'a-0 1 q 50', 'a-0 2 q 51', 'a-0 3 q 52');
  const lost = new Map([['p', [{ fromMs: 20, untilMs: 20 }]]]);
  expect(repeatedSteps(attempts, lost)).toEqual(['a-0 1 by q after p']);
});

test('a pod that is lost for a second time keeps what it had in hand at the first', () => {
  const attempts = seen('a-0 1 p 10', 'a-0 1 q 50', 'a-1 1 p 70', 'a-1 1 q 75', 'a-2 1 p 90', 'a-2 1 q 120');
  const cut = { fromMs: 20, untilMs: 60 };
  const vanished = { fromMs: 100, untilMs: Number.POSITIVE_INFINITY };
  expect(repeatedSteps(attempts, new Map([['p', [vanished]]]))).toEqual(['a-0 1 by q after p', 'a-1 1 by q after p']);
  expect(repeatedSteps(attempts, new Map([['p', [cut, vanished]]]))).toEqual(['a-1 1 by q after p']);
});

test('what a link held back is judged by when it was sent', () => {
  const [late, first] = seen('a-0 1 p 20', 'a-0 1 q 50') as [Seen, Seen];
  const cut = new Map([['p', [{ fromMs: 20, untilMs: 80 }]]]);
  expect(repeatedSteps([first, { ...late, atMs: 90 }], cut)).toEqual([]);
  // A worker that is cut off and begins a step which another has, is no loss of the other's.
  expect(repeatedSteps([first, { ...late, sentMs: 60, atMs: 90 }], cut)).toEqual(['a-0 1 by p after q']);
});

test('a run counts as resumed where it begins elsewhere, and not before', () => {
  const attempts = seen('a-0 1 p 1', 'a-1 1 q 2', 'a-2 1 p 3', 'a-0 2 p 11', 'a-0 3 q 14', 'b-0 1 p 4');
  expect(resumedAfterMs(attempts, 'a', new Set(['p']), 10)).toEqual([4, undefined]);
});

test('the share of each pod is compared with an even one', () => {
  const attempts = seen('a-0 1 p 1', 'a-0 2 p 2', 'a-0 3 p 3', 'a-1 1 q 1');
  expect(unevenShare(attempts, ['p', 'q'])).toBe(0.5);
  expect(unevenShare(attempts, ['p', 'q', 'r'])).toBeCloseTo(1.25);
});

test('a repeated call of an effect is told what the first was, whatever is wanted by then', () => {
  const outside = new Outside();
  const [mark, next] = marked('a-0 1 p 1', 'a-0 2 p 2') as [Mark, Mark];
  expect(outside.mark(mark)).toEqual({ last: false });
  outside.end('a');
  expect([outside.mark(mark), outside.mark(next)]).toEqual([{ last: false }, { last: true }]);
});

test('the gauge of a pool is the greatest of all coordinators', () => {
  const texts = ['pool_demand{pool="hpa"} 3\npool_demand{pool="keda"} 9', 'pool_demand{pool="hpa",x="y"} 4\n', ''];
  expect(gaugeOf(texts, 'pool_demand', 'hpa')).toBe(4);
  expect(gaugeOf(texts, 'pool_demand', 'jobs')).toBeUndefined();
});

test('the keeper removes the folder as soon as who started it is gone, killed or not', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'tidemark-kept-'));
  const run = path.join(folder, 'run');
  const keep = path.join(projectFolder, 'deploy/check/cluster/keep.sh');
  const script = `exec {kept}> >(exec setsid ${keep} ${run} tidemark-check-none); sleep 60 {kept}>&-`;
  const shell: ChildProcess = spawn('bash', ['-c', script], { stdio: 'inherit', detached: true });
  try {
    await eventually(() => access(run).then(() => true));
    await writeFile(path.join(run, 'file'), '');
    process.kill(-shell.pid!, 'SIGKILL');
    await eventually(() =>
      access(run).then(
        () => false,
        () => true,
      ),
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
