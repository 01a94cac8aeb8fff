/**
 * Owns the times of test files that take longer than five seconds, as the last recorded run had them (`npm run verify -- STAGE … --record`),
 * and the time that `npm test` may take. Files begin in the order of these times; test/stages.test.ts keeps the sum within the budget.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import type { TestedFile } from '../run-tests.ts';
import { stageOf } from './stages.ts';

/** A file that takes longer is recorded. */
export const SLOW_FILE_S = 5;
/** Seconds of all test files of `npm test` together, as many at once as vitest.config.ts has, on a machine of two cores. */
export const QUICK_BUDGET_S = 1_000;

const RECORD = new URL('slow-files.json', import.meta.url);

/** Seconds by file, from the project's root. */
export const SLOW_FILES: Readonly<Record<string, number>> = JSON.parse(readFileSync(RECORD, 'utf8'));

/** Records a run of whole stages: what was recorded of their files goes. */
export function recordSlowFiles(files: readonly TestedFile[]): void {
  const stages = new Set(files.map(({ file }) => stageOf(file)));
  const others = Object.entries(SLOW_FILES).filter(([file]) => !stages.has(stageOf(file)));
  const slow = files.filter(({ seconds }) => seconds > SLOW_FILE_S);
  const found = slow.map(({ file, seconds }) => [file, Math.ceil(seconds)] as const);
  const recorded = [...others, ...found].toSorted(([a], [b]) => (a < b ? -1 : 1));
  writeFileSync(RECORD, `${JSON.stringify(Object.fromEntries(recorded), undefined, 2)}\n`);
}
