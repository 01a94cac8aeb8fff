/** The list of mutations keeps up with the source, and a run of tests is judged as it should be. */

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { QUICK, stageOf } from '../../scripts/stages/stages.ts';
import { ROOT } from '../upgrade/trees.ts';
import { type FoundError, judge, type TestedRun } from './judge.ts';
import { merged, mutated } from './mutation.ts';
import { areaOf, GUARDS_TEST, MUTATIONS } from './mutations.ts';

/** Mutations that each package has at least; those of the engine have most, and the simulation's guards do not count. */
const COUNT_MINS: Readonly<Record<string, number>> = {
  ...{ core: 30, runtime: 50, codec: 6, segments: 1, 'store-postgres': 6, 'log-kafka': 4, 'log-sqlite': 5 },
  ...{ 'queue-bullmq': 2, 'queue-memory': 3, 'blob-fs': 4, access: 10, api: 4, 'repo-state': 3, host: 2, cli: 2 },
  ...{ client: 2, effects: 2, files: 2, memory: 2, ai: 2 },
};
const NEEDS_SERVER = /\.(kafka|redis|postgres|cluster|s3|kms|bao)\.test\.ts$/;

describe('the list', () => {
  it('has enough of each area', () => {
    const own = Object.values(MUTATIONS).filter(({ caughtBy }) => caughtBy !== GUARDS_TEST);
    const counts = Map.groupBy(own, areaOf);
    for (const [area, min] of Object.entries(COUNT_MINS)) {
      expect(counts.get(area)?.length ?? 0, area).toBeGreaterThanOrEqual(min);
    }
  });

  it('has edits that are found exactly once, and change something', () => {
    for (const mutation of Object.values(MUTATIONS)) {
      const text = readFileSync(path.join(ROOT, mutation.file), 'utf8');
      expect(mutated(text, mutation)).not.toBe(text);
    }
  });

  it('names tests of `npm test` that exist and need no server', () => {
    const tests = new Set(Object.values(MUTATIONS).map(({ caughtBy }) => caughtBy));
    for (const test of tests) {
      expect(existsSync(path.join(ROOT, test)), test).toBe(true);
      expect(test).not.toMatch(NEEDS_SERVER);
      expect([test, stageOf(test)]).toEqual([test, QUICK]);
    }
  });

  it('says in a sentence what each breaks', () => {
    for (const { breaks } of Object.values(MUTATIONS)) expect(breaks).toMatch(/^[A-Z].{10,}\.$/);
  });
});

it('an edit that is not found, or is found twice, is an error', () => {
  expect(() => mutated('a b', { file: 'x.ts', edits: [['c', '']] })).toThrow('found 0 times in x.ts: c');
  expect(() => mutated('a a', { file: 'x.ts', edits: [['a', '']] })).toThrow('found 2 times in x.ts: a');
});

it('a name is given once', () => {
  const one = { file: 'x.ts', edits: [], caughtBy: 'x.test.ts', breaks: 'Nothing.' };
  expect(() => merged({ one }, { one })).toThrow("two mutations are named 'one'");
});

describe('a run of tests', () => {
  const NOTHING: TestedRun = { passedCount: 0, failed: [], loading: [], isFailed: false, outside: [] };
  const failing = (...errors: readonly FoundError[]): TestedRun => ({
    ...NOTHING,
    passedCount: 3,
    isFailed: true,
    failed: errors.map((error, at) => ({ name: `test ${at}`, errors: [error] })),
  });
  const ASSERTION: FoundError = { name: 'AssertionError', message: 'expected 1 to be 2\n\nmore' };
  const CRASH: FoundError = { name: 'TypeError', message: 'x is not a function' };

  it('shows a bug by the first test whose assertion fails', () => {
    const found = judge(failing(CRASH, ASSERTION));
    expect(found).toEqual({ kind: 'failed', test: 'test 1', why: 'expected 1 to be 2' });
  });

  it('shows it by an assertion that is the cause, as of a wait or a property', () => {
    const error = { name: 'Error', message: 'not within 60 s', cause: { message: 'property', cause: ASSERTION } };
    expect(judge(failing(error)).kind).toBe('failed');
  });

  it('shows it by the error that the entry names', () => {
    const error = { name: 'ConflictError', message: 'Broken invariant: twice' };
    expect(judge(failing(error), 'Broken invariant').kind).toBe('failed');
    expect(judge(failing(error), 'another').kind).toBe('broken');
  });

  it('shows none where all that ran passed', () => {
    expect(judge({ ...NOTHING, passedCount: 1 })).toEqual({ kind: 'passed', testCount: 1 });
  });

  it.each<[string, TestedRun]>([
    ['the file is not loaded, or a hook fails', { ...NOTHING, passedCount: 1, loading: ['Failed to parse'] }],
    ['a test crashes', failing(CRASH)],
    ['a test times out', failing({ name: 'Error', message: 'Test timed out in 90000ms.' })],
    ['no test runs', NOTHING],
    ['the file fails, and no test of it', { ...NOTHING, passedCount: 1, isFailed: true }],
    ['it fails outside of tests', { ...NOTHING, passedCount: 1, outside: ['unhandled'] }],
  ])('shows nothing where %s', (_, broken) => {
    expect(judge(broken).kind).toBe('broken');
  });
});
