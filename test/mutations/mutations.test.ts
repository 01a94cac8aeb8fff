/** The list of mutations keeps up with the source, and a run of tests is judged as it should be. */

import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { QUICK, stageOf } from '../../scripts/stages/stages.ts';
import { ROOT } from '../upgrade/trees.ts';
import { merged, mutated } from './mutation.ts';
import { MUTATIONS } from './mutations.ts';
import { judge, type VitestReport } from './test-run.ts';

const COUNT_MIN = 60;
const NEEDS_SERVER = /\.(kafka|redis|postgres|cluster|s3|kms|bao)\.test\.ts$/;

describe('the list', () => {
  it('has enough of them', () => {
    expect(Object.keys(MUTATIONS).length).toBeGreaterThanOrEqual(COUNT_MIN);
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
  const report = (tests: readonly [status: string, message?: string][], file = 'passed'): VitestReport => ({
    success: file === 'passed',
    testResults: [
      {
        status: file,
        message: 'Failed to parse',
        assertionResults: tests.map(([status, message], at) => ({
          status,
          fullName: `test ${at}`,
          failureMessages: message === undefined ? [] : [message],
        })),
      },
    ],
  });

  it('shows a bug by the first test that fails', () => {
    const found = judge(report([['passed'], ['failed', 'AssertionError: 1'], ['skipped']], 'failed'));
    expect(found).toEqual({ kind: 'failed', test: 'test 1' });
  });

  it('shows none where all that ran passed', () => {
    expect(judge(report([['passed'], ['skipped']]))).toEqual({ kind: 'passed', testCount: 1 });
  });

  it('is to be repeated where the report names no test', () => {
    const all = report([['pending'], ['pending']], 'failed');
    expect(judge({ ...all, testResults: all.testResults.map((file) => ({ ...file, message: '' })) }).kind).toBe(
      'unnamed',
    );
  });

  it.each([
    ['the file is not loaded', report([], 'failed')],
    ['a name is not defined', report([['failed', 'ReferenceError: x is not defined\n  at y']], 'failed')],
    ['no test runs', report([['skipped']])],
    ['it fails outside of tests', { ...report([['passed']]), success: false }],
  ])('shows nothing where %s', (_, broken) => {
    expect(judge(broken).kind).toBe('broken');
  });
});
