/**
 * Writes libs/operate/client/src/api, the client's types, from the declarations of the routes, so that the client depends on nothing of the
 * server, also for its types (decision 0036). They are no part of the repository: the set-up makes them, the check of types and the build
 * make them anew.
 */

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { documentOf } from '@tidemark/api';
import { clientTypeFiles } from './client-types/files.ts';

const FOLDER = fileURLToPath(new URL('../libs/operate/client/src/api', import.meta.url));

/** The types of what routes declare of their edges: the client has the same. */
const DECLARATIONS = new URL('../libs/operate/api/src/edges.ts', import.meta.url);

/** Touches only what differs, since others may be reading. */
export function writeClientTypes(): void {
  const made = new Map([...clientTypeFiles(documentOf()), ['declarations.ts', readFileSync(DECLARATIONS, 'utf8')]]);
  mkdirSync(FOLDER, { recursive: true });
  for (const name of readdirSync(FOLDER)) if (!made.has(name)) rmSync(path.join(FOLDER, name));
  for (const [name, text] of made) {
    const file = path.join(FOLDER, name);
    if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
  }
}

if (import.meta.main) writeClientTypes();
