/**
 * Owns reading and writing below a folder that somebody named, and never outside of it (as Go's os.Root): no name leads out, and no link
 * below it is followed. A file is replaced whole and durably. Must not know what the files mean.
 *
 * W1 A link, or what is no plain file, is refused where a file or a folder should be; what it leads to is neither read nor written.
 * W2 What is removed was made here: drafts lie in a folder of their own, under random names.
 *
 * On Linux every folder on the way is held open, and what is in it is reached through that descriptor (`/proc/self/fd`), so that nobody can
 * put a link in its place meanwhile. Elsewhere the way is looked at right before it is gone, which leaves a moment.
 */

import { randomUUID } from 'node:crypto';
import { type BigIntStats, constants, existsSync } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, realpath, rename, rmdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { InvalidError } from '@tidemark/core';
import { codeOf, linkError, makeFolder, openPlain, readPlain, writeDurably } from './durable-files.ts';
import { NAME_MAX_CHARS, NAME_PART_MAX_BYTES } from './limits.ts';

const DESCRIPTORS = process.platform === 'linux' && existsSync('/proc/self/fd') ? '/proc/self/fd' : undefined;
const FOLDER = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
const DRAFT = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.part$/;
/** What Windows takes for a device, with whatever ending. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i;

/** Whether it is a relative path of plain names, with `/` between them, that leads to no other place on any system. */
export const isNameWithin = (name: string): boolean =>
  name.length <= NAME_MAX_CHARS && !/^[A-Za-z]:|\p{Cc}/u.test(name) && name.split(/[\\/]/).every(isPart);

const isPart = (part: string): boolean =>
  !['', '.', '..'].includes(part) && Buffer.byteLength(part) <= NAME_PART_MAX_BYTES && !DEVICE.test(part);

/** Where a file is to be found while its folder is held. */
interface Place {
  readonly file: string;
  readonly folder: FileHandle;
}

export interface FolderRootOptions {
  /** Name of the folder in it that drafts lie in; gone while there are none. */
  readonly drafts: string;
  /** How a new file is written, so that it outlives the machine; tests let it fail. */
  readonly writeNew?: ((file: string, bytes: Uint8Array) => Promise<void>) | undefined;
}

/**
 * What it throws: `InvalidError` (`path-linked`, `path-outside`, `path-not-plain`), and the file system's errors.
 */
export class FolderRoot {
  /** Absolute, and without links: the folder that was named may itself be one. */
  readonly path: string;
  readonly #drafts: string;
  readonly #writeNew: (file: string, bytes: Uint8Array) => Promise<void>;

  private constructor(folder: string, { drafts, writeNew = writeDurably }: FolderRootOptions) {
    this.path = folder;
    this.#drafts = drafts;
    this.#writeNew = writeNew;
  }

  /** Made when absent where `makes`. Undefined: it isn't there. */
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

  /** Undefined: it isn't there. Throws `LimitError` (`file-too-large`). */
  read(name: string, maxBytes: number): Promise<Buffer | undefined> {
    return unlessAbsent(this.#in(name, false, ({ file }) => readPlain(file, maxBytes, path.join(this.path, name))));
  }

  /** For reading; undefined: it isn't there. */
  openFile(name: string): Promise<FileHandle | undefined> {
    return unlessAbsent(this.#in(name, false, ({ file }) => openPlain(file, path.join(this.path, name))));
  }

  /** Of itself, where it is a link; undefined: it isn't there. */
  stat(name: string): Promise<BigIntStats | undefined> {
    return unlessAbsent(this.#in(name, false, ({ file }) => lstat(file, { bigint: true })));
  }

  /** Makes the file what is given, at once and durably, with the folders on its way. */
  write(name: string, bytes: Uint8Array): Promise<void> {
    return this.#in(name, true, ({ file, folder }) =>
      this.#in(`${this.#drafts}/${randomUUID()}.part`, true, async (draft) => {
        try {
          await this.#writeNew(draft.file, bytes);
          await rename(draft.file, file);
        } catch (error) {
          await unlink(draft.file).catch(() => {});
          throw error;
        }
        await folder.sync();
      }),
    );
  }

  /** Gives the file another name; what is there already is never overwritten. Returns the name. */
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

  /** Removes drafts that nobody is writing any more: only who knows that nobody else writes here may call it. */
  async tidy(): Promise<void> {
    const drafts = this.#in(`${this.#drafts}/any`, false, async ({ file }) => {
      const here = path.dirname(file);
      for (const left of await readdir(here)) if (DRAFT.test(left)) await unlink(path.join(here, left));
    });
    await unlessAbsent(drafts);
    // What others have put there stays, with it.
    await rmdir(path.join(this.path, this.#drafts)).catch(() => {});
  }

  /** Does the work where the name leads, in a folder that is held meanwhile; those on the way are made where `makes`. */
  async #in<T>(name: string, makes: boolean, work: (place: Place) => Promise<T>): Promise<T> {
    if (!isNameWithin(name)) {
      const message = `${JSON.stringify(name.slice(0, 200))} is no name within ${this.path}: give a relative path of plain names.`;
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
    // Which of the two a link is answered with differs between systems.
    if (['ELOOP', 'ENOTDIR'].includes(codeOf(error))) await refuseLink(folder, shown);
    throw error;
  }
}

/** Throws `InvalidError` (`path-linked`) where it is a symbolic link, wherever that leads. */
export async function refuseLink(file: string, shown = file): Promise<void> {
  const found = await unlessAbsent(lstat(file));
  if (found?.isSymbolicLink() === true) throw linkError(shown);
}

/** Where a file stands in place of a folder nothing is in it. */
async function unlessAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error))) return undefined;
    throw error;
  }
}
