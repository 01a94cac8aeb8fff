/** Owns checking whether git ignores a file, by any rule. */

import { execFile } from 'node:child_process';

/** False also without git or a repository: then nothing is ignored. */
export const isIgnored = (folder: string, file: string): Promise<boolean> =>
  new Promise((resolve) => {
    execFile('git', ['check-ignore', '--quiet', '--', file], { cwd: folder }, (error) => resolve(error === null));
  });
