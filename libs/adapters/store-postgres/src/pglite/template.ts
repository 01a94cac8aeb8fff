/**
 * Owns the template of a PGlite database with this version's tables and no rows: creating one from nothing takes seconds of a
 * processor, unpacking one a fraction. It is made once a machine and version and kept in the user's cache folder; without a
 * cache that can be written everything works, slower. It holds no user's data.
 */

import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { PGlite } from '@electric-sql/pglite';

/** Raised when databases are created in another way. */
const TEMPLATE = 3;

/** `TIDEMARK_CACHE_DIR`, or the place that the system foresees for caches. */
function cacheFolder(): string {
  const own = process.env.TIDEMARK_CACHE_DIR;
  if (own !== undefined && own !== '') return own;
  return path.join(process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache'), 'tidemark');
}

function templateFile(tables: string): string {
  const versions = [versionOf('@electric-sql/pglite'), versionOf('@electric-sql/pglite-pgvector')];
  return path.join(cacheFolder(), `pglite-${versions.join('-')}-${TEMPLATE}-${tables}.tar.zst`);
}

function versionOf(name: string): string {
  const entry = createRequire(import.meta.url).resolve(name);
  const manifest = path.join(path.dirname(entry), '..', 'package.json');
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version;
}

/**
 * The template as PGlite takes it; undefined when there is none, or none that can be read. `tables` names what is in it: each
 * change of that has a template of its own.
 */
export function readTemplate(tables: string): Blob | undefined {
  try {
    const file = templateFile(tables);
    if (!existsSync(file)) return undefined;
    return new Blob([zstdDecompressSync(readFileSync(file))]);
  } catch {
    return undefined;
  }
}

/** Takes away a template that makes no database. */
export function forgetTemplate(tables: string): void {
  try {
    rmSync(templateFile(tables), { force: true });
  } catch {
    // Then it is tried, and passed over, each time.
  }
}

/** Keeps a database whose tables were just made as the template. Never throws: the next start creates from nothing again. */
export async function keepTemplate(database: PGlite, tables: string): Promise<void> {
  try {
    // Nothing is left to be recovered wherever it is unpacked.
    await database.exec('checkpoint');
    const tar = Buffer.from(await (await database.dumpDataDir('none')).arrayBuffer());
    const file = templateFile(tables);
    mkdirSync(path.dirname(file), { recursive: true });
    const draft = `${file}.${randomUUID()}`;
    try {
      writeFileSync(draft, zstdCompressSync(tar));
      renameSync(draft, file);
    } finally {
      rmSync(draft, { force: true });
    }
  } catch {
    // A cache that can't be written costs time, nothing else.
  }
}
