/** Owns having what the peers need, on demand: their packages in a workspace of their own, and Temporal's development server. */

import { execFile } from 'node:child_process';
import { cpSync, existsSync, readFileSync } from 'node:fs';
import { chmod, readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { cached, runInstaller } from '@tidemark/testkit/servers';

const run = promisify(execFile);

export const PEERS_FOLDER = path.join(import.meta.dirname, 'workspace');
export const TEMPORAL_CLI_VERSION = '1.5.1';
/** A build of the server takes minutes. */
const BUILD_TIMEOUT_MS = 1_800_000;

/** Does nothing where what package.json names is there already, in those versions. */
export async function installPackages(): Promise<void> {
  if (isInstalled()) return;
  const quiet = ['--prefix', PEERS_FOLDER, '--no-audit', '--no-fund', '--loglevel=error'];
  try {
    await runInstaller('npm', ['ci', ...quiet]);
  } catch {
    // As in scripts/setup.mjs: `npm ci` refuses a lock file without entries of packages of other platforms that a registry lacks.
    await runInstaller('npm', ['install', '--no-save', '--no-package-lock', ...quiet]);
  }
}

interface Manifest {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
}

const manifestIn = (folder: string): Manifest => JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));

function isInstalled(): boolean {
  return Object.entries(manifestIn(PEERS_FOLDER).dependencies ?? {}).every(([name, version]) => {
    const folder = path.join(PEERS_FOLDER, 'node_modules', name);
    return existsSync(path.join(folder, 'package.json')) && manifestIn(folder).version === version;
  });
}

/** The program `temporal`, built from its source the first time, which needs Go and about three minutes. */
export async function temporalProgram(): Promise<string> {
  const folder = await cached(`temporal-${TEMPORAL_CLI_VERSION}`, async (target) => {
    const { stdout } = await run('go', [
      'mod',
      'download',
      '-json',
      `github.com/temporalio/cli@v${TEMPORAL_CLI_VERSION}`,
    ]);
    const source = path.join(target, 'source');
    cpSync((JSON.parse(stdout) as { readonly Dir: string }).Dir, source, { recursive: true });
    await makeWritable(source);
    const env = { ...process.env, CGO_ENABLED: '0' };
    await run('go', ['build', '-o', path.join(target, 'temporal'), './cmd/temporal'], {
      cwd: source,
      env,
      timeout: BUILD_TIMEOUT_MS,
    });
    await rm(source, { recursive: true });
  });
  return path.join(folder, 'temporal');
}

/** What Go downloads is read-only. */
async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    await chmod(path.join(entry.parentPath, entry.name), entry.isDirectory() ? 0o755 : 0o644);
  }
}
