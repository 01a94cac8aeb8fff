/**
 * Owns reading what a database records of its own schema, and comparing that with this release. Changes nothing.
 *
 * Two tables hold names of migrations. A release must know all of `tidemark_migrations` to work here: every release refuses what it doesn't
 * know there. No release need know what is in `tidemark_expansions`.
 */

import { ConfigError } from '@tidemark/core';
import type { Migration } from './migrations.ts';
import { booleanAt, once, type SqlRunner, textAt } from './sql-client.ts';

export const SCHEMA_TABLES = `create table if not exists tidemark_migrations (
  name text primary key,
  applied_at timestamptz not null default clock_timestamp()
);
create table if not exists tidemark_expansions (
  name text primary key,
  applied_at timestamptz not null default clock_timestamp()
)`;

export interface SchemaState {
  /** A release must know these to work here. */
  readonly binding: readonly string[];
  readonly expansions: readonly string[];
}

export async function readSchema(runner: SqlRunner): Promise<SchemaState> {
  // In the schema in which tables are created: another schema of the search path may have tables of the same names.
  const [[there = []] = []] = await runner.run([
    once(`select to_regclass(quote_ident(current_schema()) || '.tidemark_migrations') is not null,
      to_regclass(quote_ident(current_schema()) || '.tidemark_expansions') is not null`),
  ]);
  const names = async (table: string): Promise<readonly string[]> => {
    const [rows = []] = await runner.run([once(`select name from ${table} order by name`)]);
    return rows.map((row) => textAt(row, 0));
  };
  return {
    binding: booleanAt(there, 0) ? await names('tidemark_migrations') : [],
    expansions: booleanAt(there, 1) ? await names('tidemark_expansions') : [],
  };
}

export interface MigrationPlan {
  /** Migrations to apply now, in order. */
  readonly due: readonly Migration[];
  /** Missing contractions, which `tidemark admin migrate --contract` applies. */
  readonly deferred: readonly Migration[];
  /** Expansions of newer releases; this release works beside them. */
  readonly unknown: readonly string[];
}

/** Throws `ConfigError` (`store-newer`, `store-older`). `mayContract`: no older release works here any more. */
export function planOf(
  { binding, expansions }: SchemaState,
  address: string,
  migrations: readonly Migration[],
  mayContract: boolean,
): MigrationPlan {
  const isKnown = (name: string): boolean => migrations.some((migration) => migration.name === name);
  const refused = binding.filter((name) => !isKnown(name));
  if (refused.length > 0) {
    throw new ConfigError(
      'store-newer',
      `The store at ${address} was changed by a newer version of Tidemark in a way that this one can't work with (${refused.join(', ')}); nothing was touched. Use that version, or another store`,
      { address, migrations: refused },
    );
  }
  const missing = migrations.filter(({ name }) => !binding.includes(name) && !expansions.includes(name));
  const needed = missing.filter(({ phase }) => phase === 'settled');
  if (needed.length > 0 && binding.length > 0 && !mayContract) {
    throw new ConfigError(
      'store-older',
      `The store at ${address} lacks what this version of Tidemark can't work without (${needed.map(({ name }) => name).join(', ')}), and older versions can't work with; nothing was touched. Stop the older version's processes, then run tidemark admin migrate --contract`,
      { address, migrations: needed.map(({ name }) => name) },
    );
  }
  const isDue = ({ phase }: Migration): boolean => phase !== 'contract' || mayContract;
  return {
    due: missing.filter(isDue),
    deferred: missing.filter((migration) => !isDue(migration)),
    unknown: expansions.filter((name) => !isKnown(name)),
  };
}
