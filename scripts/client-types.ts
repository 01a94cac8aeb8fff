/**
 * Writes libs/operate/client/src/api, the client's types, from the declarations of the routes; with --check it only says whether that would
 * change anything. So the client depends on nothing of the server, also for its types (decision 0036).
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { documentOf } from '@tidemark/api';
import { clientTypeFiles } from './client-types/files.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const FOLDER = path.join(ROOT, 'libs/operate/client/src/api');

function formatted(file: string, text: string): string {
  const biome = path.join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
  const args = [biome, 'format', `--stdin-file-path=${file}`];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, input: text, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${file} can't be formatted:\n${stderr}`);
  return stdout;
}

/** Each file by its name, from the current declarations. */
export const clientTypes = (): ReadonlyMap<string, string> =>
  new Map(
    [...clientTypeFiles(documentOf())].map(([name, text]) => [name, formatted(path.join(FOLDER, name), text)] as const),
  );

/** Names of files that differ from the declarations, or that nothing declares any more. */
export function staleClientTypes(): readonly string[] {
  const made = clientTypes();
  const found = new Map(readdirSync(FOLDER).map((name) => [name, readFileSync(path.join(FOLDER, name), 'utf8')]));
  return [...new Set([...made.keys(), ...found.keys()])].filter((name) => made.get(name) !== found.get(name));
}

if (import.meta.main) {
  if (process.argv.includes('--check')) {
    const stale = staleClientTypes();
    if (stale.length > 0) {
      process.stderr.write(`Not what the routes say: ${stale.join(', ')}. Run \`node scripts/client-types.ts\`.\n`);
      process.exitCode = 1;
    }
  } else {
    const made = clientTypes();
    rmSync(FOLDER, { recursive: true, force: true });
    mkdirSync(FOLDER, { recursive: true });
    for (const [name, text] of made) writeFileSync(path.join(FOLDER, name), text);
  }
}
