/**
 * Owns migrating a database on a server by command: listing what would be applied, applying it, and refusing a contraction while a process
 * runs that would fail after it. The names of connections say what each process knows, and so do the rows of partition owners: a worker
 * without work has no connection for a while, and a process that lost its connection keeps its row until the row expires.
 */

import { UnavailableError } from '@tidemark/core';
import { connectionOf, type PostgresAccess, parseAddress, type StoreAddress } from './address.ts';
import { faultOf } from './faults.ts';
import { type MigrateOptions, migrate } from './migrate.ts';
import { MIGRATIONS, type Migration, type MigrationPhase } from './migrations.ts';
import { CLIENT_NAME, PoolClient } from './pool-client.ts';
import { createDatabase, isMissingDatabase } from './postgres-database.ts';
import { planOf, readSchema } from './schema-state.ts';
import { once, type SqlRunner, textAt } from './sql-client.ts';

export interface MigratePostgresOptions extends PostgresAccess {
  /** Applies also what older releases can't work with; refused while one of their processes runs. */
  readonly mayContract: boolean;
  /** Changes nothing, and creates no database. */
  readonly isDryRun: boolean;
  readonly onApplied?: MigrateOptions['onApplied'];
  readonly migrations?: readonly Migration[];
}

export interface NamedMigration {
  readonly name: string;
  readonly phase: MigrationPhase;
}

export interface MigrationReport {
  /** Migrations that were applied; in a dry run, those that would be. */
  readonly applied: readonly NamedMigration[];
  /** Contractions that a later run may apply. */
  readonly deferred: readonly NamedMigration[];
  /** Expansions of newer releases; this release works beside them. */
  readonly unknown: readonly string[];
}

/**
 * Throws `ConfigError` (`store-address`, `store-newer`, `store-older`, `store-forbidden`), `UnavailableError` (`store-unavailable`, `store-busy`,
 * `older-running`).
 */
export async function migratePostgres(options: MigratePostgresOptions): Promise<MigrationReport> {
  const { mayContract, isDryRun, onApplied, migrations = MIGRATIONS } = options;
  const address = parseAddress(options);
  const client = new PoolClient({ ...connectionOf(address), max: 1 });
  try {
    const before = await existing(client, address, isDryRun);
    const plan = planOf(before, address.shown, migrations, mayContract);
    const named = ({ name, phase }: Migration): NamedMigration => ({ name, phase });
    const { deferred, unknown } = plan;
    const done = isDryRun
      ? plan.due
      : await appliedNow(
          () => migrate(client, address.shown, { migrations, mayContract, refuseOlder, onApplied }),
          migrations,
        );
    return { applied: done.map(named), deferred: deferred.map(named), unknown };
  } catch (error) {
    throw faultOf(error, address.shown);
  } finally {
    await client.close();
  }
}

async function existing(client: PoolClient, address: StoreAddress, isDryRun: boolean) {
  try {
    return await readSchema(client);
  } catch (error) {
    if (!isMissingDatabase(error)) throw error;
    if (!isDryRun) await createDatabase(address);
    return { binding: [], expansions: [] };
  }
}

async function appliedNow(run: () => Promise<readonly string[]>, migrations: readonly Migration[]) {
  const names = await run();
  return migrations.filter(({ name }) => names.includes(name));
}

const WHO_IS_THERE = `
select distinct application_name, substr(application_name, ${CLIENT_NAME.length + 2})
from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
  and application_name like '${CLIENT_NAME} %'
union all
select role || ' ' || owner, knows from owners where expires_at > clock_timestamp()`;

async function refuseOlder(runner: SqlRunner, { name }: Migration): Promise<void> {
  const [rows = []] = await runner.run([once(WHO_IS_THERE)]);
  const older = rows.filter((row) => textAt(row, 1) < name).map((row) => textAt(row, 0));
  if (older.length === 0) return;
  throw new UnavailableError(
    'older-running',
    `Running processes don't know ${name} and would fail because of it: ${older.slice(0, 5).join(', ')}${older.length > 5 ? `, and ${older.length - 5} more` : ''}. It was not applied. Replace or stop them, then run it again (--wait waits for that)`,
    { migration: name, older },
  );
}
