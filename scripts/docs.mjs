/**
 * Owns `npm run docs`: builds a site of docs/ in docs/site/dist. Installs missing packages into docs/site alone; the product does without
 * them. A dead link fails it. `--serve` then serves it on this machine, until it is ended.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const site = fileURLToPath(new URL('../docs/site/', import.meta.url));

function run(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: site, stdio: 'inherit' });
  if (error !== undefined) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

const vitepress = path.join(site, 'node_modules/vitepress/bin/vitepress.js');
// Newer npm's `ci` refuses a lock file without the builds for other platforms; this installs what the lock file says and leaves it.
if (!existsSync(vitepress)) run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error']);
run(process.execPath, ['../../scripts/reference.ts']);
run(process.execPath, ['stage/stage.ts']);
rmSync(path.join(site, 'dist'), { recursive: true, force: true });
run(process.execPath, [vitepress, 'build', '.']);
if (process.argv.includes('--serve')) run(process.execPath, [vitepress, 'preview', '.', '--host', '127.0.0.1']);
