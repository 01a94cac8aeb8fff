/**
 * Owns bringing a database to this version's tables: numbered migrations, each applied once, in order, all in one
 * transaction under an advisory lock. A database that has any migration this version does not know is left untouched.
 */

import { ConfigError } from '@tidemark/core';
import * as projections from './migrations/0001-projections.ts';
import * as outcomes from './migrations/0002-outcomes.ts';
import * as incarnation from './migrations/0003-incarnation.ts';
import * as memories from './migrations/0004-memories.ts';
import * as context from './migrations/0005-context.ts';
import * as sessionPlaces from './migrations/0006-session-places.ts';
import * as spendHours from './migrations/0007-spend-hours.ts';
import * as tiers from './migrations/0008-tiers.ts';
import * as forks from './migrations/0009-forks.ts';
import * as blobs from './migrations/0010-blobs.ts';
import * as traces from './migrations/0011-traces.ts';
import * as search from './migrations/0012-search.ts';
import * as approvals from './migrations/0013-approvals.ts';
import * as schedules from './migrations/0014-schedules.ts';
import * as children from './migrations/0015-children.ts';
import * as continuations from './migrations/0016-continuations.ts';
import { commitDurably } from './sql/place.ts';
import { BEGIN, COMMIT, once, type SqlClient, type SqlRunner, textAt } from './sql-client.ts';

export interface Migration {
  /** `NNNN-what`, unique and rising. */
  readonly name: string;
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
  projections,
  outcomes,
  incarnation,
  memories,
  context,
  sessionPlaces,
  spendHours,
  tiers,
  forks,
  blobs,
  traces,
  search,
  approvals,
  schedules,
  children,
  continuations,
];

/** Any number; the key of the lock under which migrations run. */
const MIGRATING = 7_401_000;

export const MIGRATIONS_TABLE = `create table if not exists tidemark_migrations (
  name text primary key,
  applied_at timestamptz not null default clock_timestamp()
)`;

/** Creates what is missing. Throws `ConfigError` (`store-newer`), or the driver's error. */
export async function migrate(client: SqlClient, address: string, migrations = MIGRATIONS): Promise<void> {
  const before = await appliedIn(client);
  refuseNewer(before, address, migrations);
  if (before.length === migrations.length) return;
  await client.session(async (runner) => {
    await runner.run([BEGIN, commitDurably, once(`select pg_advisory_xact_lock(${MIGRATING})`)]);
    await runner.script(MIGRATIONS_TABLE);
    const applied = await appliedIn(runner);
    refuseNewer(applied, address, migrations);
    for (const { name, sql } of migrations) {
      if (applied.includes(name)) continue;
      await runner.script(sql);
      await runner.run([once('insert into tidemark_migrations (name) values ($1)', [name])]);
    }
    await runner.run([COMMIT]);
  });
}

async function appliedIn(runner: SqlRunner): Promise<readonly string[]> {
  // Of the schema that tables are made in: another one that is looked through may have tables of its own.
  const [[there] = []] = await runner.run([
    once(`select to_regclass(quote_ident(current_schema()) || '.tidemark_migrations')`),
  ]);
  if (there?.[0] === null) return [];
  const [names = []] = await runner.run([once('select name from tidemark_migrations order by name')]);
  return names.map((row) => textAt(row, 0));
}

function refuseNewer(applied: readonly string[], address: string, migrations: readonly Migration[]): void {
  const unknown = applied.filter((name) => !migrations.some((migration) => migration.name === name));
  if (unknown.length === 0) return;
  throw new ConfigError(
    'store-newer',
    `The store at ${address} was made by a newer version of Tidemark; nothing was touched. Use that version, or another store`,
    { address, migrations: unknown },
  );
}
