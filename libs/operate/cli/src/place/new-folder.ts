/** Owns work in a folder where nothing is kept yet: the folder gets its name once the work is done, so a refused command leaves nothing behind. */

import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { rename, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError } from '@tidemark/core';
import type { Folder } from './folder.ts';

/** Whether the folder is missing or empty. What else lies in one, such as a model for recall, stays where it is. */
export const isNew = ({ folder }: Folder): boolean => !existsSync(folder) || readdirSync(folder).length === 0;

/** `keeps`: false discards the folder after the work, too. Throws `ConfigError` (`log-locked`), and what the work throws. */
export async function inNewFolder<T>(target: Folder, keeps: boolean, work: (target: Folder) => Promise<T>): Promise<T> {
  const { folder, shown } = target;
  const highest = highestMissing(path.dirname(folder));
  const beside = `${folder}.new-${randomUUID().slice(0, 8)}`;
  try {
    const result = await work({ ...target, folder: beside });
    if (keeps) await rename(beside, folder).catch((cause: unknown) => Promise.reject(takenMeanwhile(shown, cause)));
    return result;
  } finally {
    await rm(beside, { recursive: true, force: true });
    // Folders above, as far as they are empty.
    const isGone = (at: string): Promise<boolean> =>
      rmdir(at).then(
        () => true,
        () => false,
      );
    for (let at = path.dirname(folder); highest !== undefined && at.startsWith(highest); at = path.dirname(at)) {
      if (!(await isGone(at))) break;
    }
  }
}

function highestMissing(folder: string): string | undefined {
  return existsSync(folder) ? undefined : (highestMissing(path.dirname(folder)) ?? folder);
}

const takenMeanwhile = (shown: string, cause: unknown): ConfigError =>
  new ConfigError(
    'log-locked',
    `Another process has begun to keep state in ${shown} meanwhile, and nothing was changed there. Give the command again.`,
    { cause },
  );
