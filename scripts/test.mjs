/**
 * Owns `npm test`: the static checks and every test, with the servers that they need; `npm test -- libs/core` runs
 * the matching test files alone. The last line is always `N passed, N failed, N skipped`; a check counts as a test.
 * Exits with 1 when anything failed. With CI=true a suite whose server can't be had is a failure.
 */
import { checks, runCheck } from './checks.mjs';
import { runTests } from './run-tests.mjs';

const args = process.argv.slice(2);
const results = [];
for (const check of args.length === 0 ? checks : []) {
  const result = await runCheck(check);
  process.stdout.write(`${result.passed ? 'ok  ' : 'FAIL'} ${result.name} (${result.seconds.toFixed(1)} s)\n`);
  results.push(result);
}
const tests = await runTests(args);
if (tests.missing.length > 0) {
  process.stdout.write(`\nSuites without their server:\n${tests.missing.map((line) => `  ${line}\n`).join('')}`);
}
const passed = tests.passed + results.filter((result) => result.passed).length;
const failed = tests.failed + results.filter((result) => !result.passed).length;
process.exitCode = failed > 0 || tests.code !== 0 ? tests.code || 1 : 0;
process.stdout.write(`\n${passed} passed, ${failed} failed, ${tests.skipped} skipped\n`);
