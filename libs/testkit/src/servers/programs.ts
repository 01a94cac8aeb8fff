/**
 * Owns finding programs on this machine, and installing missing ones with the system's package manager when root.
 * Invariant: one installation at a time in this process (package managers hold a lock).
 */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { runInstaller } from './cache-folder.ts';
import { installTimeoutMs } from './limits.ts';

export type PackageManager = 'apt-get' | 'dnf' | 'apk';

/** The full path of a program, found in PATH or in `alsoIn`. */
export function findProgram(name: string, alsoIn: readonly string[] = []): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(path.delimiter), ...alsoIn];
  return folders
    .filter((folder) => folder !== '')
    .map((folder) => path.join(folder, name))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

let installing: Promise<unknown> = Promise.resolve();
let listsAreFresh = false;

/** The program, installed first when it is missing, this process is root and a known package manager is here; undefined when it can't be installed. */
export async function requireProgram(
  name: string,
  packages: Readonly<Record<PackageManager, readonly string[]>>,
): Promise<string | undefined> {
  const found = findProgram(name);
  if (found !== undefined || !isRoot()) return found;
  const turn = installing.then(async () => {
    if (findProgram(name) === undefined) await install(packages);
  });
  installing = turn.catch(() => undefined);
  await turn;
  return findProgram(name);
}

async function install(packages: Readonly<Record<PackageManager, readonly string[]>>): Promise<void> {
  if (findProgram('apt-get') !== undefined) {
    // RUNLEVEL=1 keeps Debian from starting the service that comes with the package.
    const env = { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    const lock = `DPkg::Lock::Timeout=${Math.floor(installTimeoutMs / 1000)}`;
    if (!listsAreFresh) await runInstaller('apt-get', ['-q', '-o', lock, 'update'], env);
    listsAreFresh = true;
    await runInstaller(
      'apt-get',
      ['-q', '-y', '-o', lock, 'install', '--no-install-recommends', ...packages['apt-get']],
      env,
    );
  } else if (findProgram('dnf') !== undefined) {
    await runInstaller('dnf', ['-q', '-y', 'install', ...packages.dnf]);
  } else if (findProgram('apk') !== undefined) {
    await runInstaller('apk', ['add', '--no-progress', ...packages.apk]);
  }
}
