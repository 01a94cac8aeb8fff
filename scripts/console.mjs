/**
 * Builds the web console into libs/operate/console/dist. `--if-stale`: only when its sources are newer than the last build, a check of a
 * few milliseconds. What is served meanwhile stays whole: the new folder replaces the old one once it is complete.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
const folder = path.join(root, 'libs/operate/console');
const built = path.join(folder, 'dist');
const stamp = path.join(built, '.built');
/** Sources of the console; of the API's schemas only the types are used. */
const sources = [
  'libs/operate/console/src',
  'libs/operate/console/index.html',
  'libs/operate/console/vite.config.ts',
  'libs/operate/console/public',
  'libs/operate/client/src',
  'package-lock.json',
];

function newestMs(place) {
  const { mtimeMs } = statSync(place);
  if (!statSync(place).isDirectory()) return mtimeMs;
  const inner = readdirSync(place).map((name) => newestMs(path.join(place, name)));
  return Math.max(mtimeMs, ...inner);
}

export function isConsoleStale() {
  if (!existsSync(stamp)) return true;
  const builtMs = statSync(stamp).mtimeMs;
  return sources.some((source) => newestMs(path.join(root, source)) > builtMs);
}

/** Throws with the build's output when it fails. `node`: the program to run it with, 24 or newer. */
export function buildConsole(node = process.execPath) {
  const next = path.join(folder, `dist.${process.pid}.tmp`);
  const startedAt = new Date();
  const { status, stdout, stderr, error } = spawnSync(
    node,
    [path.join(root, 'node_modules/vite/bin/vite.js'), 'build', '--logLevel', 'warn'],
    { cwd: folder, encoding: 'utf8', env: { ...process.env, NODE_ENV: 'production', TIDEMARK_CONSOLE_OUT: next } },
  );
  if (status !== 0) {
    rmSync(next, { recursive: true, force: true });
    throw new Error(`the console can't be built: ${stdout ?? ''}${stderr ?? ''}${error ?? ''}`);
  }
  writeFileSync(path.join(next, '.built'), startedAt.toISOString());
  const old = `${next}.old`;
  if (existsSync(built)) renameSync(built, old);
  // Another build may have been quicker: either is whole.
  if (existsSync(built)) rmSync(next, { recursive: true, force: true });
  else renameSync(next, built);
  rmSync(old, { recursive: true, force: true });
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  if (!process.argv.includes('--if-stale') || isConsoleStale()) {
    const startedAt = Date.now();
    buildConsole();
    process.stderr.write(`console: built in ${((Date.now() - startedAt) / 1000).toFixed(1)} s.\n`);
  }
}
