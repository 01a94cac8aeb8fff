/**
 * `npm run mutations [-- NAME …] [--json]`: applies each mutation of the list, or those that are named, to a copy of the tree, and
 * runs the test file that must fail with it. All run once before, without any mutation, and must pass. Exits with 1 when a
 * mutation wasn't caught by an assertion, and when a file fails without one. The guards of the simulation run when they are named:
 * their own test takes each out in every `npm test`.
 */

import { rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { makeTestsFolder } from '@tidemark/testkit/servers';
import type { TestRun } from './judge.ts';
import type { Mutation } from './mutation.ts';
import { areaOf, GUARDS_TEST, MUTATIONS } from './mutations.ts';
import type { TestsOfFile } from './runner.ts';
import { copyTree } from './tree.ts';
import { TreeRuns } from './tree-runs.ts';

const EXIT_USAGE = 64;
const EXIT_INTERRUPTED = 130;
/** How often removing the copies is tried again, in a run that is interrupted. */
const REMOVE_RETRIES_MAX = 10;
/** Copies of the tree, and test files at once: no more than processors, since CI runs the long stages meanwhile. */
const TREES_MAX = Math.min(3, os.availableParallelism());

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

/** Those that one file must catch. */
interface Group {
  readonly tests: TestsOfFile;
  readonly mutations: readonly Named[];
}

const patternOf = (tests: readonly string[]): string => `(${tests.join('|')})$`;

function groupOf(file: string, mutations: readonly Named[]): Group {
  const tests = mutations.flatMap(([, { test }]) => (test === undefined ? [] : [test]));
  return { tests: { file, test: tests.length < mutations.length ? undefined : patternOf(tests) }, mutations };
}

/** In the order of their files: neighbours share modules, which a tree transforms once. */
const groups = [...Map.groupBy(chosen, ([, { caughtBy }]) => caughtBy)]
  .map(([file, mutations]) => groupOf(file, mutations))
  .toSorted((a, b) => (a.tests.file < b.tests.file ? -1 : 1));

/** Equal stretches of them, one for each tree. */
const treeCount = Math.min(TREES_MAX, groups.length);
const shares: readonly Group[][] = Array.from({ length: treeCount }, () => []);
let dealtCount = 0;
for (const group of groups) {
  shares[Math.floor((dealtCount * treeCount) / chosen.length)]!.push(group);
  dealtCount += group.mutations.length;
}
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

/** Whether the tests of a group passed as they are: what a mutation shows is shown against that. */
async function passes(tree: TreeRuns, { tests }: Group, together: TestRun): Promise<boolean> {
  const beganMs = performance.now();
  // A failure ends the run of all: the rest may pass by itself.
  const [found] = together.kind === 'passed' ? [together] : await tree.run([tests]);
  if (found?.kind === 'passed') return true;
  const shown = found?.kind === 'failed' ? `${found.test}: ${found.why}` : found?.why;
  sayRow('(none)', '', secondsSince(beganMs).toFixed(1), `${tests.file} FAILS WITHOUT ANY: ${shown}`);
  return false;
}

/** Runs the tests of a tree's share as they are, in one process, and leaves the groups in it whose tests pass. */
async function control(tree: TreeRuns, share: Group[]): Promise<void> {
  const groups = share.splice(0);
  if (groups.length === 0) return;
  const found = await tree.run(groups.map(({ tests }) => tests));
  for (const [at, group] of groups.entries()) if (await passes(tree, group, found[at]!)) share.push(group);
  controlCount += share.length;
}

/** What the test file says of the mutation, and whether it caught it. */
async function accountOf(tree: TreeRuns, mutation: Mutation): Promise<{ isCaught: boolean; account: string }> {
  const { caughtBy, test, breaks } = mutation;
  const tests = { file: caughtBy, test: test === undefined ? undefined : patternOf([test]) };
  const found = await tree.runWith(mutation, tests);
  if (found.kind === 'failed') return { isCaught: true, account: `${caughtBy}: ${found.test}: ${found.why}` };
  if (found.kind === 'broken') return { isCaught: false, account: `BADLY WRITTEN: ${caughtBy}: ${found.why}` };
  return { isCaught: false, account: `NOT CAUGHT by ${found.testCount} tests of ${caughtBy}: ${breaks}` };
}

async function tryEach(tree: TreeRuns, { mutations }: Group): Promise<void> {
  for (const [name, mutation] of mutations) {
    const beganMs = performance.now();
    const { isCaught, account } = await accountOf(tree, mutation).catch((error: Error) => ({
      isCaught: false,
      account: `BADLY WRITTEN: ${error.message}`,
    }));
    if (isCaught) caughtCount++;
    sayRow(name, areaOf(mutation), secondsSince(beganMs).toFixed(1), account);
  }
}

/** Tries the groups of the tree's own share, then the last ones of the share that has most left. */
async function work(tree: TreeRuns, own: Group[]): Promise<void> {
  const next = (): Group | undefined => own.shift() ?? shares.toSorted((a, b) => b.length - a.length)[0]?.pop();
  for (let group = next(); group !== undefined; group = next()) await tryEach(tree, group);
}

const startedMs = performance.now();
sayRow('mutation', 'area', 'seconds', 'caught by: first test that fails: its message');
for (const at of shares.keys()) trees.push(new TreeRuns(await copyTree(path.join(folder, `tree-${at}`))));
await Promise.all(trees.map((tree, at) => control(tree, shares[at]!)));
await Promise.all(trees.map((tree, at) => work(tree, shares[at]!)));

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
