/**
 * Installs the project's npm packages when they are missing or older than the lock file, and makes what is derived and
 * imported by sources; the pre-script of every README command. Plain JavaScript on Node 18 or newer with nothing installed: npm puts node_modules/.bin first on
 * the path of its scripts, so the command after this one runs on the Node 24 that was installed here.
 * Must be quick (< 100 ms) when nothing is to do, and must never change package-lock.json.
 *
 * `--quiet`: nothing on standard output (for commands whose output is read by programs).
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const nodeMajorMin = 24;
const root = fileURLToPath(new URL('../', import.meta.url));
const modules = path.join(root, 'node_modules');
const lockFile = path.join(root, 'package-lock.json');
/** Holds the lock file's digest, so that it names what is installed. A time stamp would not survive a checkout. */
const stampFile = path.join(modules, '.tidemark-installed');
/** Types that are derived from the API's routes. */
const clientTypes = path.join(root, 'libs/operate/client/src/api/table.ts');
const windows = process.platform === 'win32';
const localNode = path.join(modules, '.bin', windows ? 'node.cmd' : 'node');
const quiet = process.argv.includes('--quiet');

function say(text) {
  (quiet ? process.stderr : process.stdout).write(`${text}\n`);
}

function lockDigest() {
  return createHash('sha256').update(readFileSync(lockFile)).digest('hex');
}

function isInstalled(digest) {
  return existsSync(stampFile) && readFileSync(stampFile, 'utf8') === digest;
}

/** Runs npm; keeps its output, and shows it only when nothing helps. */
function npm(args) {
  const quieter = ['--no-audit', '--no-fund', '--loglevel=error'];
  const env = { ...process.env, TIDEMARK_SETUP: '1' };
  const options = { cwd: root, env, encoding: 'utf8', shell: windows, maxBuffer: 1 << 26 };
  const { status, stdout, stderr, error } = spawnSync('npm', [...args, ...quieter], options);
  return { ok: status === 0, said: `${stdout ?? ''}${stderr ?? ''}${error ?? ''}` };
}

/**
 * `npm ci` refuses a lock file that lists optional packages of other platforms without their entries, which npm
 * writes where a registry lacks those packages; a plain install accepts it, keeps to its versions, and would rewrite it.
 */
function install() {
  const clean = npm(['ci']);
  if (clean.ok) return;
  const lock = readFileSync(lockFile);
  const plain = npm(['install', '--no-save']);
  writeFileSync(lockFile, lock);
  if (plain.ok) return;
  process.stderr.write(`${clean.said}\n${plain.said}\n`);
  fail('npm could not install the packages; what it said is above. Put that right and run the command again.');
}

/** The package `node` fetches its binary in an install script; where those are disabled, this runs the script, and creates the link that npm would. */
function ensureNode() {
  if (hasNode24(localNode) || Number(process.versions.node.split('.')[0]) >= nodeMajorMin) return true;
  const folder = path.join(modules, 'node');
  const env = { ...process.env, npm_config_ignore_scripts: 'false', TIDEMARK_SETUP: '1' };
  spawnSync(process.execPath, ['installArchSpecificPackage.js'], { cwd: folder, env, stdio: 'ignore' });
  if (!windows && !existsSync(localNode)) symlinkSync('../node/bin/node', localNode);
  return hasNode24(localNode);
}

function hasNode24(program) {
  const { stdout } = spawnSync(program, ['--version'], { encoding: 'utf8', shell: windows });
  return Number(/^v(\d+)/.exec(stdout ?? '')?.[1] ?? 0) >= nodeMajorMin;
}

function fail(text) {
  process.stderr.write(`setup: ${text}\n`);
  process.exit(1);
}

function main() {
  // npm runs no script of this project while it installs; the guard is for a future one.
  if (process.env.TIDEMARK_SETUP === '1') return;
  const digest = lockDigest();
  if (!isInstalled(digest)) installPackages(digest);
  if (!existsSync(clientTypes)) makeClientTypes();
}

function installPackages(digest) {
  const startedAt = Date.now();
  say('setup: installing the npm packages (once; half a minute, or a few on a slow machine) …');
  install();
  if (!ensureNode()) fail(`Node ${nodeMajorMin} is missing: install it, or let npm run the install script of "node".`);
  writeFileSync(stampFile, digest);
  say(`setup: done in ${Math.round((Date.now() - startedAt) / 1000)} s.`);
}

function makeClientTypes() {
  const { status, stderr } = spawnSync(localNode, ['scripts/client-types.ts'], {
    cwd: root,
    encoding: 'utf8',
    shell: windows,
  });
  if (status !== 0) fail(`the client's types can't be made from the API's routes:\n${stderr}`);
}

main();
