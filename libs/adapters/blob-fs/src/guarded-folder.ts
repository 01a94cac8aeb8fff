/** Owns how a storage folder is opened, and what file systems' refusals mean: which of our errors each becomes, and what a person can do about it. */

import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { ConfigError, messageOf, UnavailableError } from '@tidemark/core';
import { codeOf, syncFolder } from './durable-files.ts';

/** What lies in the folder: names it in messages, and begins the codes of its errors. */
export type FolderUse = 'object' | 'blob';

export class GuardedFolder {
  /** Absolute. */
  readonly path: string;
  readonly #use: FolderUse;

  constructor(folder: string, use: FolderUse) {
    this.path = path.resolve(folder);
    this.#use = use;
  }

  /** Creates the folder, durably, when it is missing. Throws `ConfigError` when the path is no folder, `UnavailableError` when it can't be created. */
  async make(): Promise<void> {
    try {
      const made = await mkdir(this.path, { recursive: true, mode: 0o700 });
      if (made === undefined) return;
      for (let at = this.path; at.length >= made.length; at = path.dirname(at)) await syncFolder(path.dirname(at));
    } catch (error) {
      const code = codeOf(error);
      if (code === 'EEXIST' || code === 'ENOTDIR') {
        throw new ConfigError(`${this.#use}-folder-invalid`, `${this.path} is not a folder`, { folder: this.path });
      }
      throw this.unavailable(error);
    }
  }

  /** Throws `UnavailableError` when the folder itself is missing, since then no single file counts as missing. */
  async check(): Promise<void> {
    await this.guarded(() => stat(this.path));
  }

  /** Returns undefined for an error of the expected codes; throws `UnavailableError` for every other. */
  async guarded<T>(work: () => Promise<T>, ...expected: readonly string[]): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (expected.includes(codeOf(error))) return undefined;
      throw this.unavailable(error);
    }
  }

  unavailable(error: unknown): UnavailableError {
    const folder = this.path;
    const reason = codeOf(error);
    const said = reasonOf(error) ?? messageOf(error);
    return new UnavailableError(`${this.#use}s-unavailable`, `The folder of ${this.#use}s ${folder}: ${said}`, {
      folder,
      reason,
      cause: error,
    });
  }
}

function reasonOf(error: unknown): string | undefined {
  const code = codeOf(error);
  if ((error as { syscall?: unknown }).syscall === 'link' && NO_LINKS.includes(code)) {
    return 'its file system has no hard links, without which nothing can be created once: use another file system';
  }
  return REASONS[code];
}

/** The codes of file systems without hard links. */
const NO_LINKS: readonly string[] = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/** Errors that a person can do something about. */
const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it is gone, or a folder in it',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota is used up',
  EROFS: 'the file system is read-only',
  EACCES: 'no permission',
  EPERM: 'no permission',
  EMFILE: 'too many open files',
  EXDEV: 'other file systems are mounted below it',
};
