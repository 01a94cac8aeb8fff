/**
 * Owns the static checks of the project: format and lint, types, licences; boundaries are checked by their own test. Checks that need the
 * network are in `npm run verify` alone: the audit of dependencies.
 */

import { runNode } from './run-program.ts';

export interface Check {
  readonly name: string;
  readonly args: readonly string[];
}

export interface CheckResult {
  readonly name: string;
  readonly passed: boolean;
  readonly seconds: number;
  /** Its whole output. */
  readonly output: string;
}

/** Several threads check the same types anew, in twice the processor's time, while tests have all processors. */
export const CHECKS: readonly Check[] = [
  { name: 'format and lint', args: ['node_modules/@biomejs/biome/bin/biome', 'check', '--diagnostic-level=warn', '.'] },
  { name: 'types of client', args: ['scripts/client-types.ts'] },
  { name: 'types', args: ['node_modules/typescript/bin/tsc', '--singleThreaded', '-p', 'tsconfig.json'] },
  { name: 'types of core', args: ['node_modules/typescript/bin/tsc', '-p', 'libs/model/core/tsconfig.json'] },
  { name: 'types of console', args: ['node_modules/typescript/bin/tsc', '-p', 'libs/operate/console/tsconfig.json'] },
  { name: 'licences', args: ['scripts/licences.ts'] },
];

/** Prints its output also when it passes: it says whether the registry answered. */
export const AUDIT: Check = { name: 'audit', args: ['scripts/audit.ts'] };

/** Runs one check, and prints a line for it, below its findings when it fails. */
export async function runCheck(check: Check): Promise<CheckResult> {
  const startedMs = performance.now();
  const { code, output } = await runNode(check.args, { capture: true });
  const seconds = (performance.now() - startedMs) / 1000;
  const passed = code === 0;
  const found = passed ? '' : `\n${output.trimEnd()}\n`;
  process.stdout.write(`${found}${passed ? 'ok  ' : 'FAIL'} ${check.name} (${seconds.toFixed(1)} s)\n`);
  return { name: check.name, passed, seconds, output };
}

/** Runs all of them, one after the other. */
export async function runChecks(): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of CHECKS) results.push(await runCheck(check));
  return results;
}
