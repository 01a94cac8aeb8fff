/**
 * Owns the static checks of the project, run by `npm test` and `npm run verify`: format and lint, types, boundaries, licences. What asks
 * the network is in `npm run verify` alone: the audit of dependencies.
 */
import { runNode } from './run-program.mjs';

/** @type {readonly { name: string, args: readonly string[] }[]} */
export const checks = [
  { name: 'format and lint', args: ['node_modules/@biomejs/biome/bin/biome', 'check', '--diagnostic-level=warn', '.'] },
  { name: 'types', args: ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'] },
  { name: 'types of core', args: ['node_modules/typescript/bin/tsc', '-p', 'libs/core/tsconfig.json'] },
  { name: 'types of console', args: ['node_modules/typescript/bin/tsc', '-p', 'libs/console/tsconfig.json'] },
  { name: 'boundaries', args: ['scripts/boundaries.ts'] },
  { name: 'licences', args: ['scripts/licences.ts'] },
];

/** Its output counts also when it passes: it says whether anybody could be asked. */
export const audit = { name: 'audit', args: ['scripts/audit.ts'] };

/**
 * Runs one check; prints what it found only when it fails. `output`: all that it printed.
 * @param {{ name: string, args: readonly string[] }} check
 */
export async function runCheck(check) {
  const startedAt = performance.now();
  const { code, output } = await runNode(check.args, { capture: true });
  const seconds = (performance.now() - startedAt) / 1000;
  if (code !== 0) process.stdout.write(`\n${output.trimEnd()}\n`);
  return { name: check.name, passed: code === 0, seconds, output };
}
