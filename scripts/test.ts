/**
 * Owns `npm test`: the static checks beside the quick stage of the tests, with the servers that it needs; `npm test -- libs/core`
 * runs the matching files of every stage alone. The last line is always `N passed, N failed, N skipped`; a check counts as a
 * test. Exits with 1 when anything failed. With CI=true a suite whose server can't be had is a failure.
 */

import { runChecks } from './checks.ts';
import { runTests } from './run-tests.ts';
import { closingLine, tableOf } from './stages/report.ts';
import { QUICK } from './stages/stages.ts';

const args = process.argv.slice(2);
const isWhole = args.length === 0;
// Servers start meanwhile.
const [checks, tests] = await Promise.all([isWhole ? runChecks() : [], runTests(args, isWhole ? [QUICK] : [])]);
process.stdout.write(`\n${tableOf(checks, [tests])}`);
const failedChecks = checks.filter(({ passed }) => !passed).length;
const failed = tests.failed + failedChecks;
process.exitCode = failed > 0 || tests.code !== 0 ? tests.code || 1 : 0;
process.stdout.write(`\n${closingLine(tests.passed + checks.length - failedChecks, failed, tests.skipped)}\n`);
