/** Owns the rule that nobody has to scroll through a folder: how many source files one may hold. Must read no files. */
import path from 'node:path';
import type { Tree } from './tree.ts';
import type { Violation } from './violation.ts';

/** Tests stand beside what they test, and don't count. */
const FOLDER_FILES_MAX = 40;

export function checkFolders(tree: Tree): Violation[] {
  const counts = new Map<string, number>();
  for (const { file, isTest } of tree.files) {
    const folder = path.posix.dirname(file);
    if (!isTest) counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts].flatMap(([folder, count]) => {
    const message = `${count} files, at most ${FOLDER_FILES_MAX}: put those of one idea into a folder of their own`;
    return count <= FOLDER_FILES_MAX ? [] : [{ rule: 'folder-size', file: folder, line: 1, message }];
  });
}
