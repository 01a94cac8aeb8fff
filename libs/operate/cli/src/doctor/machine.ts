/** Owns the checks of the machine itself: the Node version, and space where state is kept. */

import { statfs } from 'node:fs/promises';
import { messageOf } from '@tidemark/core';
import { EXIT } from '@tidemark/host/exit-codes';
import { bytes } from '../text/units.ts';
import { type Finding, fail, ok, warn } from './finding.ts';

/** Free space, in bytes, below which `doctor` warns, and below which it fails. */
const DISK_WARN_BYTES = 2_147_483_648;
const DISK_FAIL_BYTES = 134_217_728;

const NODE_MIN_MAJOR = 24;

export function checkNode(version = process.versions.node): Finding {
  const major = Number.parseInt(version, 10);
  if (major >= NODE_MIN_MAJOR) return ok('Node', version);
  return fail('Node', `${version} is too old`, `Install Node ${NODE_MIN_MAJOR} or newer.`, EXIT.config);
}

/** `folder` must exist. */
export async function checkDisk(folder: string, shown: string): Promise<Finding> {
  try {
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    const message = `${bytes(free)} free where ${shown} is`;
    if (free < DISK_FAIL_BYTES)
      return fail('Disk', message, 'Make room: soon nothing can be stored.', EXIT.unavailable);
    if (free < DISK_WARN_BYTES) return warn('Disk', message, 'Make room before it runs full.');
    return ok('Disk', message);
  } catch (error) {
    return warn('Disk', `its space is unknown: ${messageOf(error)}`, 'Check it with df.');
  }
}
