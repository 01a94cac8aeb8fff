/**
 * Owns `npm run verify`: everything that must hold before a commit, one after the other, stopping at the first that
 * fails, with a table of what was checked and how long it took.
 */
import { audit, checks, runCheck } from './checks.mjs';
import { runTests } from './run-tests.mjs';

const rows = [];

async function verify() {
  for (const check of checks) {
    const { passed, seconds } = await runCheck(check);
    rows.push([check.name, passed ? 'ok' : 'FAILED', seconds]);
    if (!passed) return false;
  }
  const { passed: isAudited, seconds, output } = await runCheck(audit);
  rows.push([audit.name, isAudited ? 'ok' : 'FAILED', seconds]);
  for (const line of output.trim().split('\n')) rows.push(['', line, undefined]);
  if (!isAudited) return false;
  const startedAt = performance.now();
  const tests = await runTests([]);
  const passed = tests.code === 0 && tests.failed === 0;
  const said = `${passed ? 'ok' : 'FAILED'}: ${tests.passed} passed, ${tests.failed} failed, ${tests.skipped} skipped`;
  rows.push(['tests', said, (performance.now() - startedAt) / 1000]);
  for (const missing of tests.missing) rows.push(['', `without its server: ${missing}`, undefined]);
  return passed;
}

const passed = await verify();
process.stdout.write('\n');
for (const [name, said, seconds] of rows) {
  const time = seconds === undefined ? '' : `${seconds.toFixed(1)} s`;
  process.stdout.write(`${name.padEnd(16)} ${time.padStart(8)}  ${said}\n`);
}
process.exitCode = passed ? 0 : 1;
