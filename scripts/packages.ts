/**
 * Owns `npm run packages`: builds what `npm run build` builds, then proves on it what test/packages/built says: that registries would take
 * it, and that the README's quick start runs from it in an empty folder. `--built`: on what the last build left.
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
