/** Owns what is read of stores from outside: bytes in folders and databases. */

import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';

/** Bytes of the files in the folder whose names end so. */
export async function folderBytes(folder: string, ending = ''): Promise<number> {
  let bytes = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !entry.name.endsWith(ending)) continue;
    // A store may remove a file at any moment.
    bytes += (await stat(path.join(entry.parentPath, entry.name)).catch(() => ({ size: 0 }))).size;
  }
  return bytes;
}

/** Bytes of the database's tables and indexes, after a checkpoint. */
export async function databaseBytes(url: string): Promise<number> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('checkpoint');
    const { rows } = await client.query('select pg_database_size(current_database()) as bytes');
    return Number(rows[0].bytes);
  } finally {
    await client.end();
  }
}
