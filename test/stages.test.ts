/** Stages and the list of slow files name what is there, and `npm test` keeps its budget. */

import { globSync } from 'node:fs';
import { expect, test } from 'vitest';
import { QUICK_BUDGET_S, SLOW_FILE_S, SLOW_FILES } from '../scripts/stages/slow-files.ts';
import { ALL_FILES, LONG_STAGES, QUICK, selectionOf, stageOf } from '../scripts/stages/stages.ts';

const files = globSync(ALL_FILES, { exclude: ['**/node_modules/**', '**/fixtures/**'] }).map((file) =>
  file.replaceAll('\\', '/'),
);
/** What the files that are on no list take together at most: most take a few hundredths of a second. */
const UNLISTED_S = 300;

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

test('each slow file is there, is slow, and says why', () => {
  for (const [file, { seconds, why }] of Object.entries(SLOW_FILES)) {
    expect([file, files.includes(file)]).toEqual([file, true]);
    expect(seconds).toBeGreaterThan(SLOW_FILE_S);
    expect(why.length).toBeGreaterThan(10);
  }
});

test('the slow files of npm test leave its budget to the others: move one to a long stage, or make one quicker', () => {
  const seconds = Object.entries(SLOW_FILES).map(([file, slow]) => (stageOf(file) === QUICK ? slow.seconds : 0));
  const sum = seconds.reduce((total, each) => total + each, 0);
  expect(sum).toBeLessThanOrEqual(QUICK_BUDGET_S - UNLISTED_S);
});
