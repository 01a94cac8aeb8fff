/**
 * `npm run mutations [-- NAME …] [--control] [--search] [--json]`: applies each mutation to a copy of the tree, one after the other,
 * and runs the test file that must fail with it. Caught means that a test of it failed; a file that can't be loaded proves nothing.
 * `--control` runs the same files on the copy as it is, which must pass; `--search` runs all of `npm test`'s files instead, and
 * names those that fail. The last line is `N passed, N failed, 0 skipped`; exits with 1 when anything wasn't caught.
 */

import { spawn } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { linkPackages, ROOT } from '../upgrade/trees.ts';
import { mutated } from './mutated.ts';
import { allMutations, type Mutation } from './mutations.ts';

/** Trees, and mutations at once. */
const TREE_COUNT = 2;
/** What a mutant may take: one that makes a test wait for ever is caught by this. */
const MUTANT_MAX_MS = 180_000;
const NOT_COPIED = /(^|\/)(node_modules|dist|\.git|\.cache|\.tmp)$/;

interface Result {
  readonly name: string;
  readonly caught: boolean;
  readonly what: string;
  readonly seconds: number;
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    control: { type: 'boolean', default: false },
    search: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
  },
});
const known = allMutations();
const unknown = positionals.filter((name) => !Object.hasOwn(known, name));
if (unknown.length > 0) {
  process.stderr.write(`'${unknown.join(', ')}' is no mutation; known: ${Object.keys(known).join(', ')}.\n`);
  process.exit(64);
}
const wanted = positionals.length === 0 ? Object.keys(known) : positionals;

const startedMs = performance.now();
const folder = await mkdtemp(path.join(os.tmpdir(), 'tidemark-mutations-'));
const results: Result[] = [];
const children = new Set<ReturnType<typeof spawn>>();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    for (const child of children) child.kill('SIGKILL');
    void rm(folder, { recursive: true, force: true }).then(() => process.exit(130));
  });
}
try {
  const left = [...wanted];
  await Promise.all(
    Array.from({ length: Math.min(TREE_COUNT, left.length) }, async (_, at) => {
      const tree = await copyTree(path.join(folder, String(at)));
      for (let name = left.shift(); name !== undefined; name = left.shift()) {
        const result = await tried(tree, name, known[name]!);
        results.push(result);
        if (!values.json) process.stdout.write(lineOf(result));
      }
    }),
  );
} finally {
  await rm(folder, { recursive: true, force: true });
}
const caught = results.filter((result) => result.caught).length;
if (values.json) {
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const figures = { 'mutations.count': results.length, 'mutations.caught': caught, 'mutations.seconds': seconds };
  process.stdout.write(`${JSON.stringify(figures)}\n`);
} else process.stdout.write(`\n${caught} passed, ${results.length - caught} failed, 0 skipped\n`);
process.exitCode = caught === results.length ? 0 : 1;

async function copyTree(tree: string): Promise<string> {
  await cp(ROOT, tree, { recursive: true, filter: (name) => !NOT_COPIED.test(path.relative(ROOT, name)) });
  await linkPackages(tree);
  return tree;
}

/** Runs the mutation's tests on the tree with it, and puts the tree back as it was. */
async function tried(tree: string, name: string, mutation: Mutation): Promise<Result> {
  const beganMs = performance.now();
  const file = path.join(tree, mutation.file);
  const source = await readFile(file, 'utf8');
  const found = values.control ? source : mutated(source, mutation.edits, mutation.file);
  await writeFile(file, found);
  const { failed, broken } = await failingTests(tree, mutation, name);
  await writeFile(file, source);
  const seconds = (performance.now() - beganMs) / 1_000;
  if (values.control)
    return { name, caught: failed.length === 0 && !broken, what: failed[0] ?? 'passes without it', seconds };
  const what =
    failed[0] ?? (broken ? 'the tests could not be loaded: mend the mutation' : `not caught: ${mutation.breaks}`);
  return { name, caught: failed.length > 0, what: values.search ? failed.join('; ') : what, seconds };
}

async function failingTests(
  tree: string,
  { caughtBy, test }: Mutation,
  name: string,
): Promise<{ readonly failed: readonly string[]; readonly broken: boolean }> {
  const report = path.join(folder, `${name}.json`);
  const selected = values.search ? [] : ['--bail', '1', caughtBy, ...(test === undefined ? [] : ['-t', test])];
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--reporter=json', `--outputFile.json=${report}`, ...selected];
  const child = spawn(process.execPath, args, {
    cwd: tree,
    stdio: 'ignore',
    env: { ...process.env, TIDEMARK_TEST_STAGES: values.search ? 'quick' : '', CI: 'true' },
  });
  children.add(child);
  const timer = setTimeout(() => child.kill('SIGKILL'), values.search ? 10 * MUTANT_MAX_MS : MUTANT_MAX_MS);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  child.once('close', (_, signal) => resolve(signal === 'SIGKILL'));
  const isHung = await promise;
  clearTimeout(timer);
  children.delete(child);
  if (isHung) return { failed: [`${caughtBy}: nothing ended in ${MUTANT_MAX_MS} ms`], broken: false };
  const { testResults } = JSON.parse(await readFile(report, 'utf8')) as Report;
  const tests = testResults.flatMap((of) =>
    of.assertionResults.map((each) => ({ ...each, file: path.relative(tree, of.name) })),
  );
  const failed = tests.filter(({ status }) => status === 'failed').map((each) => `${each.file}: ${each.fullName}`);
  return { failed, broken: tests.every(({ status }) => status !== 'passed' && status !== 'failed') };
}

function lineOf({ name, caught: isCaught, what, seconds }: Result): string {
  return `${isCaught ? 'ok  ' : 'FAIL'} ${name.padEnd(28)} ${seconds.toFixed(1).padStart(5)} s  ${what}\n`;
}
