/** Owns the export: a folder written once from a run's rows. Must not follow anything. */

import { InvalidError } from '@tidemark/core';
import { type FilesFolder, type FolderOptions, openFolder, readIn } from './folder.ts';
import { FOLDER_STATE } from './folder-state.ts';
import { Keeper } from './keeper.ts';
import { SETTLE_MS } from './limits.ts';
import { refuseOthers } from './others.ts';
import { type OnReport, Reports } from './reports.ts';
import type { RunView } from './run-view.ts';
import { type ReaderOptions, RunReader, type Shown } from './source.ts';
import type { WayBack } from './way-back.ts';
import type { FindSecrets } from './withhold.ts';

export interface ExportOptions extends FolderOptions, ReaderOptions {
  readonly shown: Shown;
  /** Its path, or the folder as its caller has it open and closes it. */
  readonly folder: string | FilesFolder;
  /** Further folders in which outputs that others mark done may lie. */
  readonly outside?: readonly string[] | undefined;
  /** Takes over what others wrote to the folder; without it, that stays there and is reported. */
  readonly back?: WayBack | undefined;
  readonly find?: FindSecrets | undefined;
  readonly onReport?: OnReport | undefined;
}

/**
 * Writes the files of a run. Throws `InvalidError` (`workflow-unknown`, `files-foreign`), `ConfigError` (`files-in-use`, `files-newer`, `files-no-folder`),
 * `UnavailableError` (`files-unavailable`), and what the client throws.
 */
export async function exportFiles(options: ExportOptions): Promise<RunView> {
  const reader = new RunReader(options);
  const row = await reader.newest(options.shown);
  if (row === undefined) {
    const name =
      'workflow' in options.shown ? `has the id '${options.shown.workflow}'` : `is of '${options.shown.definition}'`;
    throw new InvalidError('workflow-unknown', `No workflow ${name}.`, { ...options.shown });
  }
  const { folder: given } = options;
  // Before anything of ours is in the folder.
  const there = typeof given === 'string' ? { path: given, read: (name: string) => readIn(given, name) } : given;
  if ((await there.read(FOLDER_STATE)) === undefined) await refuseOthers(there, row.workflow, SETTLE_MS);
  const folder = await openedFolder(options);
  try {
    const reports = new Reports(options.onReport);
    const keeper = await Keeper.open({ ...options, folder, reader, reports, settleMs: 0, nowMs: Date.now });
    return await keeper.poll(row);
  } finally {
    if (folder !== given) await folder.close();
  }
}

export const openedFolder = async (options: ExportOptions): Promise<FilesFolder> =>
  typeof options.folder === 'string' ? openFolder(options.folder, options) : options.folder;
