/**
 * Owns the template of a PGlite database with this version's tables and no rows: creating one from nothing takes seconds of a processor,
 * unpacking one a fraction. One template per machine and version is kept in the user's cache folder; without a cache that can be written
 * everything works, slower. It holds no user's data.
 */

import { randomUUID } from 'node:crypto';
import { lstatSync, mkdirSync, readFileSync, renameSync, rmSync, type Stats, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import type { PGlite } from '@electric-sql/pglite';
import { isForeign, isOpenToOthers } from '@tidemark/ports';

/** Largest template of a database, unpacked, in bytes. */
const TEMPLATE_MAX_BYTES = 512 * 1_024 * 1_024;

/** Raised when databases are created in another way. */
const TEMPLATE = 3;

/** In the user's folder of caches. A relative one would be in whatever folder the command is given in, a clone say, whose file it would open. */
export function cacheFolder({ XDG_CACHE_HOME: caches }: NodeJS.ProcessEnv = process.env): string {
  const own = caches !== undefined && path.isAbsolute(caches) ? caches : path.join(os.homedir(), '.cache');
  return path.join(own, 'tidemark');
}

function templateFile(tables: string): string {
  return path.join(cacheFolder(), `pglite-${versionOf('@electric-sql/pglite')}-${TEMPLATE}-${tables}.tar.zst`);
}

function versionOf(name: string): string {
  const entry = createRequire(import.meta.url).resolve(name);
  const manifest = path.join(path.dirname(entry), '..', 'package.json');
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version;
}

/** Functions of a database are code: one that another user put into a shared cache is not taken. */
const isOwn = (stats: Stats): boolean =>
  !isForeign(stats, process.geteuid?.()) && !isOpenToOthers(stats, process.geteuid?.());

/**
 * Reads the template, a tar; undefined when there is none, or none that can be read. `tables` identifies its tables: each change of them
 * has a template of its own.
 */
export function readTemplate(tables: string): Buffer<ArrayBuffer> | undefined {
  try {
    const file = templateFile(tables);
    const found = lstatSync(file, { throwIfNoEntry: false });
    if (found === undefined || !isOwn(found) || !isOwn(lstatSync(path.dirname(file)))) return undefined;
    return zstdDecompressSync(readFileSync(file), { maxOutputLength: TEMPLATE_MAX_BYTES });
  } catch {
    return undefined;
  }
}

/** Bytes of a block of a tar: each entry is one with its name, size and kind, and those of its content. */
const TAR_BLOCK_BYTES = 512;

/** Unpacks a template into the folder of a database, in a fifth of the time that PGlite takes, whose file system looks up each part of each path. */
export function unpackTemplate(tar: Buffer, folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  let at = 0;
  const text = (from: number, to: number): string => tar.toString('latin1', at + from, at + to).split('\0', 1)[0]!;
  for (; text(0, 100) !== ''; ) {
    if (text(257, 262) !== 'ustar') throw new Error('the template is no tar');
    const name = path.join(folder, text(0, 100));
    const size = Number.parseInt(text(124, 136), 8);
    const content = at + TAR_BLOCK_BYTES;
    if (text(156, 157) === '5') mkdirSync(name, { recursive: true, mode: 0o700 });
    else writeFileSync(name, tar.subarray(content, content + size), { flag: 'wx', mode: 0o600 });
    at = content + Math.ceil(size / TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES;
  }
}

/** Deletes a template from which PGlite can't create a database. */
export function forgetTemplate(tables: string): void {
  try {
    rmSync(templateFile(tables), { force: true });
  } catch {
    // Each start then tries it, and skips it.
  }
}

/** Keeps a database whose tables were just created as the template. Never throws: the next start creates from nothing again. */
export async function keepTemplate(database: PGlite, tables: string): Promise<void> {
  try {
    // A checkpoint first, so that nothing has to be recovered where the template is unpacked.
    await database.exec('checkpoint');
    const tar = Buffer.from(await (await database.dumpDataDir('none')).arrayBuffer());
    const file = templateFile(tables);
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const draft = `${file}.${randomUUID()}`;
    try {
      writeFileSync(draft, zstdCompressSync(tar), { mode: 0o600 });
      renameSync(draft, file);
    } finally {
      rmSync(draft, { force: true });
    }
  } catch {
    // A cache that can't be written costs time, nothing else.
  }
}
