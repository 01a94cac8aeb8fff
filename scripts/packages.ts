/**
 * Owns `npm run packages`: runs `npm run build`, then test/packages/built on the result: registries would accept it, and the README's quick
 * start runs from it in an empty folder. `--built`: on the result of the last build.
 */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

function run(args: readonly string[]): void {
  const env = { ...process.env, TIDEMARK_PACKAGES: path.join(ROOT, 'dist') };
  const { status } = spawnSync(process.execPath, args, { cwd: ROOT, env, stdio: ['ignore', 'inherit', 'inherit'] });
  if (status !== 0) process.exit(status ?? 1);
}

if (!process.argv.includes('--built')) run(['scripts/build.ts']);
run(['node_modules/vitest/vitest.mjs', 'run', 'test/packages']);
