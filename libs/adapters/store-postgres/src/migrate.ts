/**
 * Owns bringing a database to this release's tables: numbered migrations, each applied once and in order, under an advisory lock. One
 * transaction applies all that this release can't work without, and each other migration has a transaction of its own, so an interrupted
 * run resumes where it stopped. A database with something that this release can't work with is left untouched (schema-state.ts).
 */

import { setTimeout } from 'node:timers/promises';
import { UnavailableError } from '@tidemark/core';
import pg from 'pg';
import { MIGRATIONS, type Migration } from './migrations.ts';
import { planOf, readSchema, SCHEMA_TABLES } from './schema-state.ts';
import { commitDurably } from './sql/place.ts';
import { BEGIN, COMMIT, once, type SqlClient, type SqlRunner } from './sql-client.ts';

/** Longest wait of a migration for a table that others use; they wait behind it meanwhile. */
const MIGRATION_LOCK_TIMEOUT_MS = 2_000;
/** Pause between two waits of a migration for a table, in which those behind it resume. */
const MIGRATION_LOCK_PAUSE_MS = 1_000;
/** Waits for a table before the migration fails. */
const MIGRATION_LOCK_ATTEMPTS_MAX = 10;

/** Key of the lock under which migrations run; any number. */
const MIGRATING = 7_401_000;

export interface MigrateOptions {
  readonly migrations?: readonly Migration[];
  /** Also what older releases can't work with. Default: false. */
  readonly mayContract?: boolean;
  /** Throws where a process runs here that doesn't know the migration. Called in the transaction of a contraction, before it. */
  readonly refuseOlder?: (runner: SqlRunner, migration: Migration) => Promise<void>;
  /** Called with the name of each that was applied, also where a later one then fails. */
  readonly onApplied?: ((name: string) => void) | undefined;
}

/**
 * Creates what is missing; resolves to the names of what it applied. Throws `ConfigError` (`store-newer`, `store-older`), `UnavailableError`
 * (`store-busy`: tables stayed locked; what was applied before stays), what `refuseOlder` throws, or the driver's error.
 */
export async function migrate(
  client: SqlClient,
  address: string,
  { migrations = MIGRATIONS, mayContract = false, refuseOlder, onApplied }: MigrateOptions = {},
): Promise<readonly string[]> {
  const applied: string[] = [];
  const apply = async (wanted: readonly Migration[]): Promise<void> => {
    if (wanted.length === 0) return;
    await patiently(address, async () => {
      const names: string[] = [];
      await client.session(async (runner) => {
        names.length = 0;
        await runner.run([BEGIN, commitDurably, once(`select pg_advisory_xact_lock(${MIGRATING})`)]);
        await runner.script(SCHEMA_TABLES);
        const state = await readSchema(runner);
        const { due } = planOf(state, address, migrations, mayContract);
        const isInUse = state.binding.length > 0;
        // A transaction that waits for a table's lock blocks everybody who comes after it.
        if (isInUse) await runner.run([once(`set local lock_timeout = ${MIGRATION_LOCK_TIMEOUT_MS}`)]);
        for (const migration of wanted) {
          if (!due.includes(migration)) continue;
          const { name, sql, phase } = migration;
          if (isInUse && phase !== 'expand') await refuseOlder?.(runner, migration);
          await runner.script(sql);
          const table = phase === 'expand' ? 'tidemark_expansions' : 'tidemark_migrations';
          await runner.run([once(`insert into ${table} (name) values ($1)`, [name])]);
          names.push(name);
        }
        await runner.run([COMMIT]);
      });
      applied.push(...names);
      for (const name of names) onApplied?.(name);
    });
  };
  const { due } = planOf(await readSchema(client), address, migrations, mayContract);
  // One transaction: half of it would look like an older release's database.
  await apply(due.filter(({ phase }) => phase === 'settled'));
  for (const migration of due.filter(({ phase }) => phase !== 'settled')) await apply([migration]);
  return applied;
}

/** Retries while others keep a table locked, and lets them work between two attempts. */
async function patiently(address: string, attempt: () => Promise<void>): Promise<void> {
  for (let count = 1; ; count += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && error.code === '55P03')) throw error;
      if (count >= MIGRATION_LOCK_ATTEMPTS_MAX) {
        throw new UnavailableError(
          'store-busy',
          `Others kept tables of ${address} locked (a dump, or a long query): a migration waited ${MIGRATION_LOCK_ATTEMPTS_MAX} times for ${MIGRATION_LOCK_TIMEOUT_MS / 1_000} s. What was applied before it stays; run it again at a quieter time`,
          { cause: error },
        );
      }
      await setTimeout(MIGRATION_LOCK_PAUSE_MS);
    }
  }
}
