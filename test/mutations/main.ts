/**
 * `npm run mutations [-- NAME …] [--json]`: applies each mutation of the list, or those that are named, to a copy of the tree, and
 * runs the test file that must fail with it. Each file runs once before, without any mutation, and must pass. Exits with 1 when a
 * mutation wasn't caught by an assertion, and when a file fails without one. The guards of the simulation run when they are named:
 * their own test takes each out in every `npm test`.
 */

import { rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { makeTestsFolder } from '@tidemark/testkit/servers';
import type { Mutation } from './mutation.ts';
import { areaOf, GUARDS_TEST, MUTATIONS } from './mutations.ts';
import { copyTree } from './tree.ts';
import { TreeRuns } from './tree-runs.ts';

const EXIT_USAGE = 64;
const EXIT_INTERRUPTED = 130;
/** How often removing the copies is tried again, in a run that is interrupted. */
const REMOVE_RETRIES_MAX = 10;
/** Copies of the tree, and test files at once: one more than processors, as many tests wait. */
const TREE_COUNT = Math.min(3, os.availableParallelism() + 1);

type Named = readonly [name: string, mutation: Mutation];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(MUTATIONS, name));
if (unknown.length > 0) {
  process.stderr.write(`no such mutation: ${unknown.join(', ')}; known: ${Object.keys(MUTATIONS).join(', ')}\n`);
  process.exit(EXIT_USAGE);
}
const isChosen = ([name, { caughtBy }]: Named): boolean =>
  positionals.length === 0 ? caughtBy !== GUARDS_TEST : positionals.includes(name);
const chosen = Object.entries(MUTATIONS).filter(isChosen);

/** Those that one file must catch, the largest first: they are run in one tree, after the file without any. */
const groups = [...Map.groupBy(chosen, ([, { caughtBy }]) => caughtBy)].toSorted(([, a], [, b]) => b.length - a.length);
const widthOf = (texts: readonly string[]): number => Math.max(...texts.map((text) => text.length));
const nameWidth = widthOf(chosen.map(([name]) => name));
const areaWidth = widthOf(chosen.map(([, mutation]) => areaOf(mutation)));

/** For people; with `--json`, standard output is for programs. */
const say = (line: string): void => void (values.json ? process.stderr : process.stdout).write(`${line}\n`);
const sayRow = (name: string, area: string, seconds: string, account: string): void =>
  say([name.padEnd(nameWidth), area.padEnd(areaWidth), seconds.padStart(7), account].join('  '));

/** Copies, and what tests write beside them: each run of a test file makes files anew. */
const folder = await makeTestsFolder();
process.env.TMPDIR = folder;
const trees: TreeRuns[] = [];
process.once('exit', () => {
  for (const tree of trees) tree.end();
  // What was ended may write for a moment yet.
  rmSync(folder, { recursive: true, force: true, maxRetries: REMOVE_RETRIES_MAX });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(EXIT_INTERRUPTED));
}

const secondsSince = (fromMs: number): number => Number(((performance.now() - fromMs) / 1_000).toFixed(1));
let caughtCount = 0;
let controlCount = 0;

const patternOf = (tests: readonly string[]): string => `(${tests.join('|')})$`;

/** Whether the file passes as it is: what a mutation shows is shown against that. */
async function passesWithout(tree: TreeRuns, caughtBy: string, group: readonly Named[]): Promise<boolean> {
  const beganMs = performance.now();
  const tests = group.flatMap(([, { test }]) => (test === undefined ? [] : [test]));
  const found = await tree.run(caughtBy, tests.length < group.length ? undefined : patternOf(tests));
  if (found.kind === 'passed') {
    controlCount++;
    return true;
  }
  const account = `${caughtBy} FAILS WITHOUT ANY: ${found.kind === 'failed' ? found.test : ''} ${found.why}`;
  sayRow('(none)', '', secondsSince(beganMs).toFixed(1), account);
  return false;
}

/** What the test file says of the mutation, and whether it caught it. */
async function accountOf(tree: TreeRuns, mutation: Mutation): Promise<{ isCaught: boolean; account: string }> {
  const { caughtBy, test, breaks } = mutation;
  const found = await tree.runWith(mutation, test === undefined ? undefined : patternOf([test]));
  if (found.kind === 'failed') return { isCaught: true, account: `${caughtBy}: ${found.test}: ${found.why}` };
  if (found.kind === 'broken') return { isCaught: false, account: `BADLY WRITTEN: ${caughtBy}: ${found.why}` };
  return { isCaught: false, account: `NOT CAUGHT by ${found.testCount} tests of ${caughtBy}: ${breaks}` };
}

const left = groups.values();

async function work(tree: TreeRuns): Promise<void> {
  for (const [caughtBy, group] of left) {
    if (!(await passesWithout(tree, caughtBy, group))) continue;
    for (const [name, mutation] of group) {
      const beganMs = performance.now();
      const { isCaught, account } = await accountOf(tree, mutation).catch((error: Error) => ({
        isCaught: false,
        account: `BADLY WRITTEN: ${error.message}`,
      }));
      if (isCaught) caughtCount++;
      sayRow(name, areaOf(mutation), secondsSince(beganMs).toFixed(1), account);
    }
  }
}

const startedMs = performance.now();
sayRow('mutation', 'area', 'seconds', 'caught by: first test that fails: its message');
await Promise.all(
  Array.from({ length: Math.min(TREE_COUNT, groups.length) }, async (_, at) => {
    const tree = new TreeRuns(await copyTree(path.join(folder, `tree-${at}`)));
    trees.push(tree);
    await work(tree);
  }),
);

const seconds = secondsSince(startedMs);
const figures = {
  'mutations.count': chosen.length,
  'mutations.caught': caughtCount,
  'mutations.control_files': groups.length,
  'mutations.control_passed': controlCount,
  'mutations.seconds': seconds,
};
if (values.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
const failed = chosen.length - caughtCount;
say(`\n${groups.length} test files without any mutation, ${controlCount} pass; ${seconds.toFixed(0)} s`);
say(`${caughtCount} passed, ${failed} failed, 0 skipped`);
process.exit(failed === 0 ? 0 : 1);
