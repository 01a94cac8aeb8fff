/** Stages and the record of slow files name what is there, and `npm test` keeps its budget. */

import { globSync, readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import type { TestedFile } from '../scripts/run-tests.ts';
import { quickListedS, timeProblems } from '../scripts/stages/report.ts';
import { QUICK_BUDGET_S, SLOW_FILE_S, SLOW_FILES } from '../scripts/stages/slow-files.ts';
import { ALL_FILES, LONG_STAGES, QUICK, selectionOf, stageOf } from '../scripts/stages/stages.ts';

const files = globSync(ALL_FILES, { exclude: ['**/node_modules/**', '**/fixtures/**'] }).map((file) =>
  file.replaceAll('\\', '/'),
);
/** What the files that are not slow take together, as measured; most take a few hundredths of a second. */
const UNLISTED_S = 400;
/** Of every test, as vitest.config.ts has it. */
const TEST_LIMIT_MS = 120_000;
/** What `npm test` proves beside unit tests: contracts of ports, guards, and the short runs on the embedded default and on a cluster. */
const ALWAYS_QUICK = [
  'test/simulation/guards.test.ts',
  'libs/operate/cli/src/embedded.test.ts',
  'libs/operate/cli/src/cli.cluster.test.ts',
];

test('each file is in one stage, and each stage names files that are there', () => {
  expect(files.length).toBeGreaterThan(400);
  for (const [name, { files: patterns }] of Object.entries(LONG_STAGES)) {
    for (const pattern of patterns) {
      const named = files.filter(
        (file) => stageOf(file) === name && (file === pattern || file.startsWith(pattern.replace(/\*\*$/, ''))),
      );
      expect([name, pattern, named.length > 0]).toEqual([name, pattern, true]);
    }
  }
  const selected = Object.keys(LONG_STAGES).flatMap((name) => globSync([...selectionOf([name]).include]));
  const quick = files.filter((file) => stageOf(file) === QUICK);
  expect([...selected, ...quick].toSorted()).toEqual(files.toSorted());
});

test('npm test has the contract of each port on each adapter, the guards, and a short run of each deployment', () => {
  const contracts = files.filter((file) => /\b\w+Contract\(/.test(readFileSync(file, 'utf8')));
  // Its pattern stands here.
  const always = [...contracts, ...ALWAYS_QUICK].filter((file) => file !== 'test/stages.test.ts');
  expect(contracts.length).toBeGreaterThan(20);
  expect(always.filter((file) => !files.includes(file))).toEqual([]);
  expect(always.filter((file) => stageOf(file) !== QUICK)).toEqual([]);
});

test('each file that is recorded as slow is there', () => {
  expect(Object.keys(SLOW_FILES).filter((file) => !files.includes(file))).toEqual([]);
  expect(Math.min(...Object.values(SLOW_FILES))).toBeGreaterThan(SLOW_FILE_S);
});

test('the slow files of npm test leave its budget to the others: move one to a long stage, or make one quicker', () => {
  expect(quickListedS()).toBeLessThanOrEqual(QUICK_BUDGET_S - UNLISTED_S);
});

test('no test has less time than all have: what it waits for would not be named', () => {
  const LIMIT = /^\s*\}, ([\d_]{4,})\);$|\btestTimeout: ([\d_]+)|\{ timeout: ([\d_]+) \}, (?:async )?\(/gm;
  const short = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(LIMIT)]
      .filter(([, end, all, own]) => Number((end ?? all ?? own ?? '').replaceAll('_', '')) < TEST_LIMIT_MS)
      .map(([text]) => [file, text.trim()]),
  );
  expect(short).toEqual([]);
});

describe('a run fails by its time', () => {
  const [listed = '', seconds = 0] = Object.entries(SLOW_FILES).find(([file]) => stageOf(file) === QUICK) ?? [];
  const of = (file: string, took: number) => ({ file, seconds: took, testCount: 1 });
  const unlisted = 'libs/model/core/src/fold.test.ts';

  it.each<[string, number, readonly TestedFile[]]>([
    ['as measured', 0, [of(listed, seconds), of(unlisted, SLOW_FILE_S)]],
    ['where a file that was not slow takes many times what it may', 1, [of(listed, seconds), of(unlisted, 21)]],
    ['not where those that were are as slow', 0, [of(listed, seconds * 3), of(unlisted, 60)]],
    [
      'where all others take twice what those leave them',
      1,
      [of(listed, seconds), ...Array.from({ length: 200 }, (_, at) => of(`libs/model/core/src/a${at}.test.ts`, 8))],
    ],
    ['not where none of those ran, as with one file', 0, [of(unlisted, 1_000)]],
  ])('%s', (_, count, tested) => {
    expect(timeProblems(tested)).toHaveLength(count);
  });
});
