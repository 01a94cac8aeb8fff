/**
 * Owns `npm run verify`: all that must hold before a change lands. Without arguments it runs the audit of dependencies, `npm test`, and the
 * long stages; `npm run verify -- chaos docs` runs the named stages alone, `-- long` all long ones. Prints how long each took; with
 * `--record` slow test files are recorded (stages/slow-files.json). The last line is `N passed, N failed, N skipped`. Exits with 1 when
 * anything failed, and with 64 for an unknown stage.
 */

import { AUDIT, type CheckResult, runCheck, runChecks } from './checks.ts';
import { type Outcome, runMutations, runTests } from './run-tests.ts';
import { finish } from './stages/report.ts';
import { recordSlowFiles } from './stages/slow-files.ts';
import { isStage, LONG_STAGES, MUTATIONS, QUICK } from './stages/stages.ts';

const LONG = 'long';
const longStages = [...Object.keys(LONG_STAGES), MUTATIONS];

const RECORD = '--record';
const named = process.argv.slice(2).filter((word) => word !== RECORD);
const unknown = named.filter((name) => name !== LONG && !isStage(name));
if (unknown.length > 0) {
  const known = [QUICK, LONG, ...longStages].join(', ');
  process.stderr.write(`'${unknown.join(', ')}' is no stage; known: ${known}.\n`);
  process.exit(64);
}

const wanted = named.length === 0 ? [QUICK, LONG] : named;
const stages = wanted.flatMap((name) => (name === LONG ? longStages : [name]));
const checks: CheckResult[] = [];
const outcomes: Outcome[] = [];

if (named.length === 0) {
  const audit = await runCheck(AUDIT);
  process.stdout.write(audit.output);
  checks.push(audit);
}
if (stages.includes(QUICK)) {
  const [found, tests] = await Promise.all([runChecks(), runTests([], [QUICK])]);
  checks.push(...found);
  outcomes.push(tests);
}
const together = stages.filter((name) => name !== QUICK && name !== MUTATIONS);
// Side by side, since the long stages wait for servers and processes, and mutations compute.
const [tests, mutations] = await Promise.all([
  together.length > 0 ? runTests([], together) : undefined,
  stages.includes(MUTATIONS) ? runMutations({ isAlone: together.length === 0 }) : undefined,
]);
outcomes.push(...[tests, mutations].filter((outcome) => outcome !== undefined));

process.exitCode = finish(checks, outcomes);
if (process.argv.includes(RECORD)) recordSlowFiles(outcomes.flatMap(({ files }) => files));
