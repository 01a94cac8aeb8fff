/**
 * Owns a copy of the working tree in which the source may be changed: with no part of git, with the packages that are installed
 * here, and with the workspace's own packages taken from the copy.
 */

import { cp, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { linkPackages, ROOT } from '../upgrade/trees.ts';

/** What is made by commands, and is no source. */
const MADE = /(^|\/)(node_modules|\.git|\.cache|\.tmp|\.tidemark|\.audit|coverage|dist|dist\..*\.tmp.*)$/;

/** The working tree, copied into the folder. */
export async function copyTree(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true });
  const filter = (name: string): boolean => !MADE.test(path.relative(ROOT, name));
  await cp(ROOT, folder, { recursive: true, filter });
  await linkPackages(folder);
  return folder;
}
