/** Owns the checks of a state folder: whether it is usable, who uses it, how large it is. */

import { constants, existsSync } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, messageOf, TidemarkError } from '@tidemark/core';
import { EXIT, exitCodeOf } from '@tidemark/host/exit-codes';
import { exists, type Folder } from '../place/folder.ts';
import { folderSettings, HeldFolder, holdFolder } from '../place/held-folder.ts';
import { ownName, type Place, placeOf, placeOr } from '../place/place.ts';
import type { Session } from '../session.ts';
import { bytes } from '../text/units.ts';
import type { Locate } from './definition-places.ts';
import { type Finding, fail, ok, warn } from './finding.ts';
import { checkHealth, checkLog } from './health.ts';
import { checkDisk } from './machine.ts';
import { checkRecent } from './recent.ts';

const STAFF = { coordinator: 'tidemark dev', worker: 'tidemark dev' };

export async function checkEmbedded(
  { env }: Pick<Session, 'env'>,
  target: Folder,
  locate: Locate,
): Promise<readonly Finding[]> {
  const { folder, shown } = target;
  try {
    folderSettings(env);
  } catch (error) {
    return [fail('Settings', messageOf(error), 'Set it right, or leave it out.', exitCodeOf(error))];
  }
  if (!existsSync(folder)) return [ok('State', `nothing is kept in ${shown} yet`), await nearestDisk(folder, shown)];
  const refused = await access(folder, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (refused !== undefined) {
    const remedy = 'Make it readable and writable for this user, or name another folder with --state.';
    return [fail('State', `${shown} can't be used: ${messageOf(refused)}`, remedy, EXIT.config)];
  }
  try {
    if (!exists(target)) return [ok('State', `nothing is kept in ${shown} yet`), await checkDisk(folder, shown)];
  } catch (error) {
    return [cantOpen(error)];
  }
  const findings = [await checkSize(target), await checkDisk(folder, shown)];
  try {
    const name = ownName(env);
    const found = await placeOr(target, name, () => holdFolder(target));
    const place = found instanceof HeldFolder ? await placeOf(found, name) : found;
    try {
      const log = found instanceof HeldFolder ? [await checkLog(found.host)] : [];
      const health = [...log, ...(await checkHealth(place, STAFF)), ...(await checkRecent(place, locate))];
      return [...findings, checkHolder(place), ...health];
    } finally {
      await place.close();
    }
  } catch (error) {
    return [...findings, cantOpen(error)];
  }
}

/** Where the folder would be created. */
function nearestDisk(folder: string, shown: string): Promise<Finding> {
  let nearest = path.dirname(folder);
  while (!existsSync(nearest)) nearest = path.dirname(nearest);
  return checkDisk(nearest, shown);
}

async function checkSize({ folder, shown }: Folder): Promise<Finding> {
  const [log, rows] = await Promise.all(['log', 'rows'].map((part) => sizeOf(path.join(folder, part))));
  return ok('State', `${shown}: log ${bytes(log ?? 0)}, rows ${bytes(rows ?? 0)}`);
}

/** Bytes of all files below; files that vanish meanwhile don't count. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true }).catch(() => []);
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async (entry) => {
      const found = await stat(path.join(entry.parentPath, entry.name)).catch(() => undefined);
      return found?.size ?? 0;
    });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

function checkHolder({ holder }: Place): Finding {
  if (holder === null) return ok('In use', 'by nobody');
  return ok('In use', `by process ${holder.pid} (tidemark ${holder.command}), which answers`);
}

function cantOpen(error: unknown): Finding {
  const code = error instanceof TidemarkError ? error.code : 'internal';
  const message = messageOf(error);
  if (error instanceof ConfigError && code === 'log-locked') {
    return warn('In use', message, 'The rest can be checked when it is free.');
  }
  return fail(
    'Opening',
    message,
    remedies[code] ?? 'Keep a copy of the folder before anything else.',
    exitCodeOf(error),
  );
}

const remedies: Readonly<Record<string, string>> = {
  'key-file-missing': 'Put a copy of the key file back, or correct TIDEMARK_KEYS_URL and TIDEMARK_SECRETS_KEYS_URL.',
  'keys-missing': 'Set TIDEMARK_KEYS_URL to the address of the key that the folder was written with.',
  'log-missing': 'Restore the folder log from a copy; rows follow from it.',
  'state-no-folder': 'Name a folder with --state.',
  'log-newer': 'Use the version of Tidemark that wrote it, or a newer one.',
  'log-foreign': 'Name another folder with --state.',
  'log-damaged': 'Restore the folder from a copy; rows follow from the log.',
  'store-damaged': 'Delete its folder rows: they are rebuilt from the log.',
  'store-newer': 'Use the version of Tidemark that wrote it, or a newer one.',
};
