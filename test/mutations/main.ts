/**
 * `npm run mutations [-- NAME …] [--control] [--json]`: applies each mutation of the list, or those that are named, to a copy of
 * the tree, and runs the test that must fail with it. `--control` runs the same tests without any mutation; they must pass. Exits
 * with 1 when a mutation wasn't caught, or is badly written.
 */

import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Mutation } from './mutation.ts';
import { MUTATIONS } from './mutations.ts';
import { endRuns, runTestFile } from './test-run.ts';
import { copyTree, withMutation } from './tree.ts';

const EXIT_USAGE = 64;
const EXIT_INTERRUPTED = 130;
/** How often removing the copies is tried again, in a run that is interrupted. */
const REMOVE_RETRIES_MAX = 10;
/** Copies of the tree, and test files at once. */
const TREE_COUNT = Math.min(2, os.availableParallelism());

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { control: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(MUTATIONS, name));
if (unknown.length > 0) {
  process.stderr.write(`no such mutation: ${unknown.join(', ')}; known: ${Object.keys(MUTATIONS).join(', ')}\n`);
  process.exit(EXIT_USAGE);
}
const chosen = Object.entries(MUTATIONS).filter(([name]) => positionals.length === 0 || positionals.includes(name));

interface Task {
  readonly name: string;
  readonly file: string;
  readonly caughtBy: string;
  readonly run: (tree: string) => Promise<Outcome>;
}

interface Outcome {
  readonly isGood: boolean;
  readonly account: string;
}

const patternOf = (names: readonly string[]): string => `(${names.join('|')})$`;

const mutationTask = ([name, mutation]: readonly [string, Mutation]): Task => ({
  name,
  file: mutation.file,
  caughtBy: mutation.caughtBy,
  run: async (tree) => {
    const { caughtBy, test, breaks } = mutation;
    const pattern = test === undefined ? undefined : patternOf([test]);
    const found = await withMutation(tree, mutation, () => runTestFile(tree, caughtBy, pattern));
    if (found.kind === 'failed') return { isGood: true, account: found.test };
    if (found.kind === 'passed') return { isGood: false, account: `NOT CAUGHT by ${found.testCount} tests: ${breaks}` };
    return { isGood: false, account: `BADLY WRITTEN: ${found.why}` };
  },
});

/** The tests of the mutations, each file once. */
function controlTasks(mutations: readonly Mutation[]): readonly Task[] {
  return [...Map.groupBy(mutations, ({ caughtBy }) => caughtBy)].map(([caughtBy, group]) => ({
    name: 'control',
    file: '',
    caughtBy,
    run: async (tree) => {
      const names = group.flatMap(({ test }) => (test === undefined ? [] : [test]));
      const found = await runTestFile(tree, caughtBy, names.length < group.length ? undefined : patternOf(names));
      if (found.kind === 'passed') return { isGood: true, account: `${found.testCount} tests pass` };
      return { isGood: false, account: `FAILED: ${found.kind === 'failed' ? found.test : found.why}` };
    },
  }));
}

const tasks = values.control ? controlTasks(chosen.map(([, mutation]) => mutation)) : chosen.map(mutationTask);
const widthOf = (of: (task: Task) => string): number => Math.max(...tasks.map((task) => of(task).length));
const widths = {
  name: widthOf(({ name }) => name),
  file: widthOf(({ file }) => file),
  by: widthOf((task) => task.caughtBy),
};

/** For people; with `--json`, standard output is for programs. */
const say = (line: string): void => void (values.json ? process.stderr : process.stdout).write(`${line}\n`);

function sayRow(name: string, file: string, caughtBy: string, account: string, seconds: string): void {
  const columns = [name.padEnd(widths.name), file.padEnd(widths.file), caughtBy.padEnd(widths.by), account, seconds];
  say(columns.join('  '));
}

const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-mutations-'));
process.once('exit', () => {
  endRuns();
  // What was ended may write for a moment yet.
  rmSync(folder, { recursive: true, force: true, maxRetries: REMOVE_RETRIES_MAX });
});
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(EXIT_INTERRUPTED));
}

const startedMs = performance.now();
const secondsSince = (fromMs: number): number => Number(((performance.now() - fromMs) / 1_000).toFixed(1));
let goodCount = 0;
const left = tasks.values();

async function work(tree: string): Promise<void> {
  for (const { name, file, caughtBy, run } of left) {
    const beganMs = performance.now();
    const { isGood, account } = await run(tree).catch((error: Error) => ({
      isGood: false,
      account: `BADLY WRITTEN: ${error.message}`,
    }));
    if (isGood) goodCount++;
    sayRow(name, file, caughtBy, account, secondsSince(beganMs).toFixed(1));
  }
}

const trees: string[] = [];
for (let at = 0; at < Math.min(TREE_COUNT, tasks.length); at++) {
  trees.push(await copyTree(path.join(folder, `tree-${at}`)));
}
sayRow('name', 'file', 'caught by', 'first failing test', 'seconds');
await Promise.all(trees.map(work));

const seconds = secondsSince(startedMs);
const figures = values.control
  ? { 'mutations.control_files': tasks.length, 'mutations.control_passed': goodCount }
  : { 'mutations.count': tasks.length, 'mutations.caught': goodCount, 'mutations.seconds': seconds };
if (values.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
say(`\n${seconds.toFixed(0)} s\n${goodCount} passed, ${tasks.length - goodCount} failed, 0 skipped`);
process.exit(goodCount === tasks.length ? 0 : 1);
