/** Owns asking git whether it ignores a file, by whatever rule. */

import { execFile } from 'node:child_process';

/** False also where there is no git and no repository: then nothing is ignored. */
export const isIgnored = (folder: string, file: string): Promise<boolean> =>
  new Promise((resolve) => {
    execFile('git', ['check-ignore', '--quiet', '--', file], { cwd: folder }, (error) => resolve(error === null));
  });
