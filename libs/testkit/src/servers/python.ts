/** Owns fetching from PyPI: wheels by exact version, unpacked or installed into `.cache`, never into the system's Python. */
import { execFileSync } from 'node:child_process';
import { UnavailableError } from '@tidemark/core';
import { cached, runInstaller } from './cache-folder.ts';
import { requireProgram } from './programs.ts';

/** Downloads the wheels into the folder and runs the script with `args`. `what` names them in the error where there is no Python. */
export async function fetchWheels(
  what: string,
  {
    wheels,
    folder,
    script,
    args,
  }: Readonly<Record<'wheels' | 'args', readonly string[]> & Record<'folder' | 'script', string>>,
): Promise<void> {
  const python = await requirePython(what);
  const flags = ['--no-deps', '--only-binary=:all:', '--disable-pip-version-check', '--quiet', '-d', folder];
  await runInstaller(python, ['-m', 'pip', 'download', ...flags, ...wheels]);
  await runInstaller(python, ['-c', script, ...args]);
}

/** The folder for PYTHONPATH with `packages` and their dependencies, and the Python that installed them. */
export async function installedPackages(
  what: string,
  { name, packages }: { readonly name: string; readonly packages: readonly string[] },
): Promise<{ readonly python: string; readonly folder: string }> {
  const python = await requirePython(what);
  // Packages may hold machine code for one version of Python.
  const version = execFileSync(python, ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])'], {
    encoding: 'utf8',
  });
  const folder = await cached(`${name}-python-${version.trim()}`, async (building) => {
    const flags = ['--only-binary=:all:', '--disable-pip-version-check', '--quiet', '--no-compile'];
    await runInstaller(python, ['-m', 'pip', 'install', ...flags, '--target', building, ...packages]);
  });
  return { python, folder };
}

async function requirePython(what: string): Promise<string> {
  const python = await requireProgram('python3', {
    'apt-get': ['python3', 'python3-pip'],
    dnf: ['python3-pip'],
    apk: ['py3-pip'],
  });
  if (python === undefined) throw new UnavailableError('test-server-missing', `no python3 in PATH to fetch ${what}`);
  return python;
}
