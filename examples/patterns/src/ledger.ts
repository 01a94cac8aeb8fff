/**
 * Owns a ledger in a folder, standing for a payment service: one entry a key, whatever comes at once or twice, and a
 * crash leaves an entry whole or not there. Must know nothing of workflows.
 *
 * The folder is `LEDGER_DIR` in the environment, by default `.tidemark/ledger`.
 */

import { createHash, randomUUID } from 'node:crypto';
import { link, mkdir, readFile, unlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Booking {
  readonly account: string;
  readonly cents: number;
}

const folder = (): string => process.env.LEDGER_DIR ?? join('.tidemark', 'ledger');
const idOf = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 32);
const fileOf = (id: string): string => join(folder(), `${id}.json`);

/** Books once for a key and gives the entry's id; the same key with another booking is refused. */
export async function book(key: string, { account, cents }: Booking): Promise<string> {
  const id = idOf(key);
  const text = `${JSON.stringify({ key, account, cents })}\n`;
  const draft = join(folder(), `${id}.${randomUUID()}.draft`);
  await mkdir(folder(), { recursive: true });
  await writeFile(draft, text, { flush: true });
  try {
    // Unlike a rename, a link fails when the entry is there.
    await link(draft, fileOf(id));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if ((await readFile(fileOf(id), 'utf8')) !== text) {
      throw new Error(`Entry ${id} is booked for its key with another account or amount.`, { cause: error });
    }
  } finally {
    await unlink(draft);
  }
  return id;
}

/** The id of a key's entry; null when nothing is booked for it. */
export async function entryOf(key: string): Promise<string | null> {
  const id = idOf(key);
  return (await exists(fileOf(id))) ? id : null;
}

/** Takes an entry back by a counter-entry: nothing is ever deleted, and doing it twice changes nothing. */
export async function strike(id: string): Promise<void> {
  const { account, cents } = JSON.parse(await readFile(fileOf(id), 'utf8')) as Booking;
  await book(`${id} struck`, { account, cents: -cents });
}

const exists = (file: string): Promise<boolean> =>
  readFile(file).then(
    () => true,
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return false;
      throw error;
    },
  );
