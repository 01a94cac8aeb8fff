/**
 * Owns reading and writing below a folder that somebody named, and never outside of it (as Go's os.Root): no name leads out, and no link
 * below it is followed. A file is replaced whole and durably. Must not know what the files mean.
 *
 * W1 A link, or anything but a plain file, is refused where a file or a folder should be; its target is neither read nor written.
 * W2 Removal deletes only drafts that this code wrote: they lie in a folder of their own, under random names.
 *
 * On Linux every folder on the way is kept open, and its content is reached through that descriptor (`/proc/self/fd`), so that nobody can
 * put a link in its place meanwhile. Elsewhere each folder is checked right before it is used, which leaves a moment.
 */

import { randomUUID } from 'node:crypto';
import { type BigIntStats, constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rmdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { InvalidError } from '@tidemark/core';
import { codeOf, linkError, makeFolder, openPlain, readPlain, writeDurably } from './durable-files.ts';

/** Longest path below a folder that somebody named, in characters. */
const NAME_MAX_CHARS = 1_000;
/** Longest part of it, in bytes: what file systems take. */
const NAME_PART_MAX_BYTES = 255;

const DESCRIPTORS = process.platform === 'linux' && existsSync('/proc/self/fd') ? '/proc/self/fd' : undefined;
const FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
const DRAFT = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/;
/** Names that Windows takes for a device, with any ending. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Whether it is a relative path of plain names, with `/` between them, that leads to no other place on any system. */
export const isNameWithin = (name: string): boolean =>
  name.length <= NAME_MAX_CHARS && !/^[A-Za-z]:|\p{Cc}/u.test(name) && name.split(/[\\/]/).every(isPart);

const isPart = (part: string): boolean =>
  !['', '.', '..'].includes(part) && Buffer.byteLength(part) <= NAME_PART_MAX_BYTES && !DEVICE.test(part);

/** Where to reach a file while its folder is open. */
interface OpenPath {
  readonly file: string;
  readonly folder: FileHandle;
}

export interface FolderRootOptions {
  /** Name of the folder of drafts inside the root; it exists only while there are drafts. */
  readonly drafts: string;
  /** Writes a new file so that it outlives the machine; tests make it fail. */
  readonly writeNew?: ((file: string, bytes: Uint8Array) => Promise<void>) | undefined;
}

/** A folder that somebody named. Its methods throw `InvalidError` (`path-linked`, `path-outside`, `path-not-plain`), and the file system's errors. */
export class FolderRoot {
  /** Absolute, and without links: the named folder may itself be one. */
  readonly path: string;
  readonly #drafts: string;
  readonly #writeNew: (file: string, bytes: Uint8Array) => Promise<void>;

  private constructor(folder: string, { drafts, writeNew = writeDurably }: FolderRootOptions) {
    this.path = folder;
    this.#drafts = drafts;
    this.#writeNew = writeNew;
  }

  /** Opens the folder, and creates it when it is missing and `makes` is set. Undefined: it is missing. */
  static async open(
    folder: string,
    options: FolderRootOptions & { readonly makes: boolean },
  ): Promise<FolderRoot | undefined> {
    if (options.makes) await mkdir(folder, { recursive: true });
    const found = await unlessAbsent(realpath(folder));
    if (found === undefined) return undefined;
    await (await openFolder(found, found)).close();
    return new FolderRoot(found, options);
  }

  /** Reads a file. Undefined: it is missing. Throws `LimitError` (`file-too-large`). */
  read(name: string, maxBytes: number): Promise<Buffer | undefined> {
    return unlessAbsent(this.#in(name, false, ({ file }) => readPlain(file, maxBytes, path.join(this.path, name))));
  }

  /** Opens a file for reading; undefined: it is missing. */
  openFile(name: string): Promise<FileHandle | undefined> {
    return unlessAbsent(this.#in(name, false, ({ file }) => openPlain(file, path.join(this.path, name))));
  }

  /** Describes the entry itself, also where it is a link; undefined: it is missing. */
  stat(name: string): Promise<BigIntStats | undefined> {
    return unlessAbsent(this.#in(name, false, ({ file }) => lstat(file, { bigint: true })));
  }

  /**
   * Replaces the file's content at once and durably, and creates the folders on its way. `mayReplace` is asked when nothing is left to do
   * but the renaming. Returns false where it said no.
   */
  write(name: string, bytes: Uint8Array, mayReplace?: () => Promise<boolean>): Promise<boolean> {
    return this.#in(name, true, ({ file, folder }) =>
      this.#in(`${this.#drafts}/${randomUUID()}.part`, true, async (draft) => {
        try {
          await this.#writeNew(draft.file, bytes);
          if ((await mayReplace?.()) === false) {
            await unlink(draft.file);
            return false;
          }
          await rename(draft.file, file);
        } catch (error) {
          await unlink(draft.file).catch(() => {});
          throw error;
        }
        await folder.sync();
        return true;
      }),
    );
  }

  /** Renames the file; never overwrites an existing one. Returns the name. */
  move(name: string, to: string): Promise<string> {
    return this.#in(name, false, (from) =>
      this.#in(to, true, async (there) => {
        for (let nth = 1; ; nth++) {
          const ending = nth === 1 ? '' : `-${nth}`;
          if ((await unlessAbsent(lstat(`${there.file}${ending}`))) !== undefined) continue;
          await rename(from.file, `${there.file}${ending}`);
          await there.folder.sync();
          return `${to}${ending}`;
        }
      }),
    );
  }

  /** Removes drafts that nobody is writing any more. Call it only when nobody else writes here. */
  async tidy(): Promise<void> {
    const drafts = this.#in(`${this.#drafts}/any`, false, async ({ file }) => {
      const here = path.dirname(file);
      for (const left of await readdir(here)) if (DRAFT.test(left)) await unlink(path.join(here, left));
    });
    await unlessAbsent(drafts);
    // The folder stays where others have put something into it.
    await rmdir(path.join(this.path, this.#drafts)).catch(() => {});
  }

  /** Does the work where the name leads, in a folder that stays open meanwhile; creates the folders on the way where `makes` is set. */
  async #in<T>(name: string, makes: boolean, work: (place: OpenPath) => Promise<T>): Promise<T> {
    if (!isNameWithin(name)) {
      const message = `${JSON.stringify(name.slice(0, 200))} is not a name within ${this.path}: give a relative path of plain names.`;
      throw new InvalidError('path-outside', message, { folder: this.path });
    }
    const parts = name.split('/');
    const last = parts.pop()!;
    let shown = this.path;
    let folder = await openFolder(shown, shown);
    try {
      for (const part of parts) {
        const next = path.join(pathOf(folder, shown), part);
        shown = path.join(shown, part);
        if (makes && (await makeFolder(next))) await folder.sync();
        const inner = await openFolder(next, shown);
        await folder.close();
        folder = inner;
      }
      return await work({ file: path.join(pathOf(folder, shown), last), folder });
    } finally {
      await folder.close();
    }
  }
}

const pathOf = ({ fd }: FileHandle, shown: string): string =>
  DESCRIPTORS === undefined ? shown : path.join(DESCRIPTORS, String(fd));

async function openFolder(folder: string, shown: string): Promise<FileHandle> {
  try {
    return await open(folder, FOLDER);
  } catch (error) {
    // Systems differ in which of the two they answer for a link.
    if (['ELOOP', 'ENOTDIR'].includes(codeOf(error))) await refuseLink(folder, shown);
    throw error;
  }
}

/** Throws `InvalidError` (`path-linked`) where it is a symbolic link, wherever that leads. */
export async function refuseLink(file: string, shown = file): Promise<void> {
  const found = await unlessAbsent(lstat(file));
  if (found?.isSymbolicLink() === true) throw linkError(shown);
}

/** A file in place of a folder holds nothing. */
async function unlessAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return undefined;
    throw error;
  }
}
