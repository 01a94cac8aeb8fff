/**
 * Owns trees of other releases, from which real processes run: the one before, as git has it, and a next one, made of this one by a few
 * changes. They share the packages that are installed here; the workspace's own are theirs.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { packageFolders } from '../../scripts/workspaces.ts';

export const ROOT = path.resolve(import.meta.dirname, '../..');
/** What a service with the workload of a run consists of. */
const PARTS = ['libs', 'services', 'test/chaos', 'package.json'];
/** Larger than any output of git or tar here. */
const OUTPUT_MAX_BYTES = 1_048_576;

const run = promisify(execFile);

/** The release before this one: what it can't do beside this one, no other of its time can. Raised with every release. */
export const PREVIOUS_RELEASE = '73e439279df887b3e242426220bd95050cc2b75d';

/** Whether this clone has that commit: a shallow one may not. */
export async function hasCommit(commit: string): Promise<boolean> {
  return run('git', ['cat-file', '-e', `${commit}^{commit}`], { cwd: ROOT }).then(
    () => true,
    () => false,
  );
}

/** The release of that commit, unpacked into the folder. */
export async function releaseAt(commit: string, folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const archive = path.join(folder, 'tree.tar');
  const options = { cwd: ROOT, maxBuffer: OUTPUT_MAX_BYTES };
  await run('git', ['archive', '--format=tar', `--output=${archive}`, commit, ...PARTS], options);
  await run('tar', ['xf', archive, '-C', folder], options);
  await linkPackages(folder);
  return folder;
}

/** One text of a file that becomes another. It must be there: otherwise the next release would be this one. */
export interface Change {
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** This release with changes, in the folder. */
export async function changedRelease(changes: readonly Change[], folder: string): Promise<string> {
  const isSource = (name: string): boolean => !/(^|\/)(node_modules|dist|fixtures)$|\.test\.ts$/.test(name);
  for (const part of PARTS) {
    await cp(path.join(ROOT, part), path.join(folder, part), { recursive: true, filter: isSource });
  }
  for (const { file, from, to } of changes) {
    const name = path.join(folder, file);
    const text = await readFile(name, 'utf8');
    if (!text.includes(from)) throw new Error(`${file} has no "${from}": change what the next release changes there`);
    await writeFile(
      name,
      text.replace(from, () => to),
    );
  }
  await linkPackages(folder);
  return folder;
}

/** Packages as they are installed here, but those of the workspace, which are the tree's own. */
export async function linkPackages(folder: string): Promise<void> {
  const installed = path.join(ROOT, 'node_modules');
  const own = path.join(folder, 'node_modules');
  await mkdir(path.join(own, '@tidemark'), { recursive: true });
  for (const name of await readdir(installed)) {
    if (name.startsWith('.') || name === '@tidemark') continue;
    await symlink(path.join(installed, name), path.join(own, name));
  }
  // Another release may have its packages elsewhere.
  for (const where of packageFolders(folder, ['libs', 'services'])) {
    const { name } = JSON.parse(await readFile(path.join(folder, where, 'package.json'), 'utf8')) as { name: string };
    await symlink(path.join(folder, where), path.join(own, name));
    // Where two packages need two versions of a third, one has its own.
    const nested = path.join(installed, name, 'node_modules');
    if (existsSync(nested)) await symlink(await realpath(nested), path.join(folder, where, 'node_modules'));
  }
}
