/** Owns what is read of processes and stores from outside: memory, processor time, bytes in folders and databases. Linux alone. */

import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { cpuSeconds, pssBytes } from '@tidemark/testkit/processes';
import { Client } from 'pg';

/** The process and all that it started, and these started. */
async function family(pid: number): Promise<readonly number[]> {
  const parents = new Map<number, number>();
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const text = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => '');
    parents.set(Number(entry), Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]));
  }
  const members = [pid];
  for (const member of members) for (const [child, parent] of parents) if (parent === member) members.push(child);
  return members;
}

/** Resident bytes of a process and its children; a page that several share is counted once (PSS). */
export async function residentBytes(pid: number): Promise<number> {
  let bytes = 0;
  for (const member of await family(pid)) bytes += await pssBytes(member).catch(() => 0);
  return bytes;
}

/** Processor seconds of a process and its living children so far. */
export async function familyCpuSeconds(pid: number): Promise<number> {
  let seconds = 0;
  for (const member of await family(pid)) seconds += await cpuSeconds(member).catch(() => 0);
  return seconds;
}

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
