/**
 * Owns `npm test`: the static checks beside the quick stage of the tests, with the servers that it needs; `npm test -- libs/model/core`
 * runs the matching files of every stage alone. The last line is always `N passed, N failed, N skipped`; a check counts as a
 * test. Fails with vitest's exit code, or with 1 when a check or the budget of time failed. With CI=true a suite whose server can't be had is a failure.
 */

import { runChecks } from './checks.ts';
import { runTests } from './run-tests.ts';
import { finish } from './stages/report.ts';
import { QUICK } from './stages/stages.ts';

const args = process.argv.slice(2);
const isWhole = args.length === 0;
// Servers start meanwhile.
const [checks, tests] = await Promise.all([isWhole ? runChecks() : [], runTests(args, isWhole ? [QUICK] : [])]);
process.exitCode = finish(checks, [tests]);
