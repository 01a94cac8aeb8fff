/**
 * Owns the mechanical check of the project's structure: `node scripts/boundaries.ts [FOLDER]` prints each violation
 * and exits with 1 when there is one. The rules and their reasons are in CONTRIBUTING.md; test/boundaries.test.ts
 * proves each on a fixture that must fail.
 */
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkCycles } from './boundaries/cycles.ts';
import { checkFile } from './boundaries/file-rules.ts';
import { checkFolders } from './boundaries/folders.ts';
import { checkImports, checkManifest } from './boundaries/import-rules.ts';
import { checkRooms } from './boundaries/rooms.ts';
import { readTree } from './boundaries/tree.ts';
import type { Violation } from './boundaries/violation.ts';

/** Every violation in the tree below `rootFolder`, by file. */
export function checkBoundaries(rootFolder: string): { readonly violations: Violation[]; readonly fileCount: number } {
  const tree = readTree(rootFolder);
  const violations = [
    ...tree.packages.flatMap((info) => checkManifest(tree, info)),
    ...tree.files.flatMap((file) => [...checkFile(file), ...checkImports(tree, file)]),
    ...checkCycles(tree),
    ...checkRooms(tree),
    ...checkFolders(tree),
  ];
  return { violations, fileCount: tree.files.length };
}

function main(): void {
  const rootFolder = path.resolve(process.argv[2] ?? fileURLToPath(new URL('../', import.meta.url)));
  const { violations, fileCount } = checkBoundaries(rootFolder);
  for (const { rule, file, line, message } of violations) console.log(`${file}:${line} ${rule}: ${message}`);
  console.log(`boundaries: ${fileCount} files, ${violations.length} violations`);
  if (violations.length > 0) process.exitCode = 1;
}

if (import.meta.main) main();
