/**
 * Owns writing a file once and durably. Invariants: the file under its name is whole from the first moment, and is never replaced; when
 * `writeOnce` resolves, content and name survive a power cut. Must know nothing of effects.
 *
 * Drafts lie in a hidden folder beside the file, one folder per key, so that the next call of the key finds and removes a dead call's draft
 * without reading the rest of the folder.
 */

import { hash, randomUUID } from 'node:crypto';
import { link, mkdir, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { codeOf, syncFolder, writeDurably } from '@tidemark/blob-fs/durable-files';
import { refuseLink } from '@tidemark/blob-fs/folder-root';

/** Attempts to write a file while other calls of its key remove their folder of drafts. */
const DRAFT_ATTEMPTS_COUNT = 5;

/** State of the path: nothing, the content, or something else. */
export type Found = 'nothing' | 'same' | 'other';

/** `other`: a different file exists, and stays. Throws the file system's errors. */
export async function writeOnce(file: string, bytes: Uint8Array, key: string): Promise<'written' | 'same' | 'other'> {
  const folder = path.dirname(file);
  const drafts = path.join(folder, `.tidemark-${hash('sha256', `${key} ${file}`).slice(0, 32)}`);
  const made = await mkdir(folder, { recursive: true });
  const before = await compare(file, bytes);
  const outcome = before === 'nothing' ? await linkDraft(file, bytes, drafts) : before;
  if (outcome !== 'other') await syncFolders(folder, made);
  // Another writer of the same content finds its draft gone, and the file there.
  await rm(drafts, { recursive: true, force: true }).catch(() => undefined);
  return outcome;
}

/** Compares by content; anything but a file is `other`. An equal file is made durable, no matter who wrote it. */
export async function compare(file: string, bytes: Uint8Array | { readonly sha256: string }): Promise<Found> {
  const wanted = bytes instanceof Uint8Array ? hash('sha256', bytes) : bytes.sha256;
  const found = await digestOf(file);
  if (found === undefined) return 'nothing';
  return found === wanted ? 'same' : 'other';
}

/** Undefined: it is missing. */
async function digestOf(file: string): Promise<string | undefined> {
  try {
    const handle = await open(file, 'r');
    try {
      if (!(await handle.stat()).isFile()) return '';
      const digest = hash('sha256', await handle.readFile());
      await handle.sync();
      return digest;
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

async function linkDraft(file: string, bytes: Uint8Array, drafts: string): Promise<'written' | 'same' | 'other'> {
  for (let attempt = 1; ; attempt += 1) {
    const draft = path.join(drafts, randomUUID());
    try {
      await mkdir(drafts, { recursive: true });
      await refuseLink(drafts);
      await writeDurably(draft, bytes);
      // Unlike a rename, a link fails when the name is taken.
      await link(draft, file);
      return 'written';
    } catch (error) {
      const found = await compare(file, bytes);
      if (found !== 'nothing') return found;
      // Another call of the key removed the drafts; any other error is the file system's.
      if (codeOf(error) !== 'ENOENT' || attempt === DRAFT_ATTEMPTS_COUNT) {
        await rm(draft, { force: true }).catch(() => undefined);
        throw error;
      }
    }
  }
}

/** The folders from the file's own up to the one that names the first created folder. */
async function syncFolders(folder: string, made: string | undefined): Promise<void> {
  const last = made === undefined ? folder : path.dirname(made);
  for (let at = folder; ; at = path.dirname(at)) {
    await syncFolder(at);
    if (at === last || at === path.dirname(at)) return;
  }
}
