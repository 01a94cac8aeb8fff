/** Owns finding the packages of a tree: folders that have a manifest, in order, one group of folders deep at most. */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** From the root, with forward slashes: `libs/model/core`, `services/worker`. */
export function packageFolders(rootFolder: string, parents: readonly string[]): string[] {
  return parents.flatMap((parent) =>
    subfolders(rootFolder, parent).flatMap((folder) =>
      hasManifest(rootFolder, folder)
        ? [folder]
        : subfolders(rootFolder, folder).filter((inner) => hasManifest(rootFolder, inner)),
    ),
  );
}

const hasManifest = (rootFolder: string, folder: string): boolean =>
  existsSync(path.join(rootFolder, folder, 'package.json'));

function subfolders(rootFolder: string, parent: string): string[] {
  const folder = path.join(rootFolder, parent);
  if (!existsSync(folder)) return [];
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return entries.map((entry) => `${parent}/${entry.name}`).sort();
}
