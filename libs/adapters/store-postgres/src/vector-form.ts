/**
 * Owns how vectors are stored in this database: as pgvector's type where the extension exists or may be created, as bytes elsewhere. The
 * process that runs `ensure` decides; the column's type shows the others. When the extension is added later the vectors are emptied, and
 * the indexer rebuilds them; so too when it was removed, and the column with it.
 */

import pg from 'pg';
import type { VectorForm } from './sql/embeddings.ts';
import { commitDurably } from './sql/place.ts';
import { BEGIN, COMMIT, once, type Row, type SqlClient, type SqlRunner } from './sql-client.ts';

/** Key of the lock under which the column changes; any number. */
const CHANGING = 7_401_001;

const READ = `
select (select format_type(atttypid, null) from pg_attribute
    where attrelid = 'memory_embeddings'::regclass and attname = 'embedding' and not attisdropped),
  exists (select from pg_available_extensions where name = 'vector')`;

const TAKE = `
create extension if not exists vector;
truncate memory_embeddings;
alter table memory_embeddings alter column embedding type vector using null;
alter table memory_embeddings alter column embedding set storage external`;
const RESTORE = `
truncate memory_embeddings;
alter table memory_embeddings add column embedding bytea not null;
alter table memory_embeddings alter column embedding set statistics 0`;

/** Script that changes the column. */
export const VECTOR_SCRIPTS: readonly string[] = [TAKE, RESTORE];

/** Returns the form of the stored vectors. */
export async function readVectorForm(runner: SqlRunner): Promise<VectorForm> {
  return formIn(await read(runner));
}

/** Changes the column to the best form that this database offers. `usePgvector` false: ignores the extension. */
export async function ensureVectorForm(client: SqlClient, usePgvector: boolean): Promise<VectorForm> {
  const before = await read(client);
  if (before[0] === null) await changing(client, RESTORE);
  if (!usePgvector || before[1] !== 't' || formIn(before) === 'pgvector') return readVectorForm(client);
  try {
    await changing(client, TAKE);
  } catch (error) {
    // The role may not create it, or its files don't fit this server: everything works without it.
    if (!(error instanceof pg.DatabaseError)) throw error;
  }
  return readVectorForm(client);
}

const formIn = (row: Row): VectorForm => (row[0] === 'bytea' ? 'bytes' : 'pgvector');

async function read(runner: SqlRunner): Promise<Row> {
  const [[row = []] = []] = await runner.run([once(READ)]);
  return row;
}

/** Changes the column, unless another process has done so meanwhile. */
async function changing(client: SqlClient, script: string): Promise<void> {
  await client.session(async (runner) => {
    await runner.run([BEGIN, commitDurably, once(`select pg_advisory_xact_lock(${CHANGING})`)]);
    const [type] = await read(runner);
    if (script === TAKE ? type === 'bytea' : type === null) await runner.script(script);
    await runner.run([COMMIT]);
  });
}
