/**
 * Owns rows made anew in a schema beside the one in use, and the transaction in which they take its place. Knows neither log nor fold: it
 * is filled through a store like any other.
 *
 * R1 Nobody who reads or writes the rows in use sees half a switch: tables change their schema in one transaction, which holds all writers.
 * R2 What was carried over is what stood in the tables in use when their writers were held.
 */

import { ConfigError, type Offset, type Partition, UnavailableError } from '@tidemark/core';
import {
  type CatchUp,
  noTelemetry,
  type ProjectionStore,
  type RowComparison,
  type RowDifference,
  type StoreRebuild,
} from '@tidemark/ports';
import pg from 'pg';
import { faultOf } from './faults.ts';
import { SWITCH_LOCK_TIMEOUT_MS } from './limits.ts';
import { MIGRATIONS, migrate } from './migrate.ts';
import { comparisons, countsOf, differenceOf } from './sql/compare-tables.ts';
import { positionOf, readPositions } from './sql/coordinate.ts';
import { commitDurably, lockPlacing } from './sql/place.ts';
import {
  CARRY_OVER,
  DROP_UNFOUND,
  inSchemas,
  LOCK_WRITERS,
  quoted,
  type Schemas,
  SEED_PLACEMENTS,
  SWITCH_TABLES,
  TAKE_VECTOR_TYPE,
  VECTOR_TYPE,
  WHOLE_TABLES,
} from './sql/switch-tables.ts';
import { BEGIN, COMMIT, once, ROLLBACK, type SqlClient, type SqlRunner, type Statement, textAt } from './sql-client.ts';
import { SqlProjectionStore } from './sql-projection-store.ts';

/** What the new rows are for: to take the place of those in use, or to be held against them. */
export type RebuildPurpose = 'switch' | 'compare';

export const schemasOf = (live: string, purpose: RebuildPurpose): Schemas => ({
  live,
  fresh: `${live}_${purpose === 'switch' ? 'rebuild' : 'compare'}`,
});

export interface SchemaRebuildOptions {
  readonly kind: ProjectionStore['kind'];
  /** Of the rows in use. */
  readonly live: SqlClient;
  /** Of the new ones: it looks for names in their schema alone, so that nothing of theirs can reach the rows in use. */
  readonly fresh: SqlClient;
  readonly schemas: Schemas;
  readonly address: string;
  /** False: nobody else uses the database, and one transaction has its only connection. */
  readonly isShared: boolean;
  readonly closed: () => Promise<void>;
}

const BEGIN_SNAPSHOT = once('begin isolation level repeatable read read only');

export class SchemaRebuild implements StoreRebuild {
  readonly store: ProjectionStore;
  readonly #options: SchemaRebuildOptions;

  constructor(options: SchemaRebuildOptions) {
    this.#options = options;
    this.store = new SqlProjectionStore({
      kind: options.kind,
      client: options.fresh,
      address: options.address,
      telemetry: noTelemetry,
      ensure: () => this.#ensure(),
      closed: options.closed,
    });
  }

  async #ensure(): Promise<void> {
    const { live, fresh, schemas, address } = this.#options;
    await this.#refuseOlder();
    await live.script(`create schema if not exists ${quoted(schemas.fresh)}`);
    await migrate(fresh, address);
    const [[row = []] = []] = await fresh.run([once(inSchemas(VECTOR_TYPE, schemas))]);
    const type = textAt(row, 0);
    if (type !== 'bytea') await fresh.script(inSchemas(TAKE_VECTOR_TYPE(type), schemas));
    await live.script(inSchemas(SEED_PLACEMENTS, schemas));
  }

  /** Tables of another version would be switched in under processes that don't know them. */
  async #refuseOlder(): Promise<void> {
    const { live, address } = this.#options;
    const [names = []] = await live.run([once('select name from tidemark_migrations order by name')]);
    const applied = names.map((row) => textAt(row, 0));
    const lacking = MIGRATIONS.map(({ name }) => name).filter((name) => !applied.includes(name));
    if (lacking.length === 0 && applied.length === MIGRATIONS.length) return;
    throw new ConfigError(
      'store-older',
      `The store at ${address} is not of this version of Tidemark (${applied.at(-1) ?? 'empty'}; this one makes ${MIGRATIONS.at(-1)!.name}): start this version's coordinators first. Nothing was changed.`,
      { address, applied, lacking },
    );
  }

  positions(): Promise<ReadonlyMap<Partition, Offset>> {
    return this.#named(() => positionsIn(this.#options.live));
  }

  switchOver(catchUp: CatchUp): Promise<void> {
    const { schemas } = this.#options;
    return this.#held(catchUp, async (runner) => {
      await runner.script(inSchemas(`${WHOLE_TABLES}; ${DROP_UNFOUND}; ${CARRY_OVER}`, schemas));
      await runner.script(inSchemas(SWITCH_TABLES, schemas));
      await runner.run([COMMIT]);
    });
  }

  async compare(catchUp: CatchUp, limit: number): Promise<RowComparison> {
    const { schemas, isShared } = this.#options;
    const dropUnfound = inSchemas(`${WHOLE_TABLES}; ${DROP_UNFOUND}`, schemas);
    let comparing: Promise<RowComparison> | undefined;
    await this.#held(catchUp, async (runner) => {
      if (isShared) {
        await this.#options.live.script(`begin; ${dropUnfound}; commit`);
        comparing = (await this.#inSnapshot((snapshot) => this.#comparison(snapshot, limit))).done;
        comparing.catch(() => {});
      } else {
        await runner.script(dropUnfound);
        comparing = Promise.resolve(await this.#comparison(runner, limit));
      }
      await runner.run([ROLLBACK]);
    });
    return this.#named(() => comparing!);
  }

  /** Runs the work in a transaction in which the rows in use stand still, and the new ones have caught up with them. */
  #held(catchUp: CatchUp, work: (runner: SqlRunner) => Promise<void>): Promise<void> {
    const { live, isShared, schemas } = this.#options;
    return this.#named(async () => {
      if (!isShared) await catchUp(await positionsIn(live));
      await live.session(async (runner) => {
        await runner.run([BEGIN, commitDurably]);
        if (isShared) {
          await runner.run([once(`set local lock_timeout = ${SWITCH_LOCK_TIMEOUT_MS}`), lockPlacing]);
          await runner.script(inSchemas(LOCK_WRITERS, schemas));
          await catchUp(await positionsIn(runner));
        }
        await work(runner);
      });
    });
  }

  /** Resolves once the snapshot is taken, with what the work in it comes to. */
  #inSnapshot<T>(work: (runner: SqlRunner) => Promise<T>): Promise<{ readonly done: Promise<T> }> {
    return new Promise((resolve, reject) => {
      const done: Promise<T> = this.#options.live.session(async (runner) => {
        await runner.run([BEGIN_SNAPSHOT, once('select 1')]);
        resolve({ done });
        const result = await work(runner);
        await runner.run([COMMIT]);
        return result;
      });
      done.catch(reject);
    });
  }

  async #comparison(runner: SqlRunner, limit: number): Promise<RowComparison> {
    await runner.script(WHOLE_TABLES);
    const differences: RowDifference[] = [];
    let differenceCount = 0;
    let rowCount = 0;
    for (const { table, key, count, find } of comparisons(this.#options.schemas)) {
      const [[counted = []] = []] = await runner.run([once(count)]);
      const counts = countsOf(counted);
      differenceCount += counts.differenceCount;
      rowCount += counts.rowCount;
      const room = limit - differences.length;
      if (counts.differenceCount === 0 || room <= 0) continue;
      const [rows = []] = await runner.run([once(find(room))]);
      differences.push(...rows.map((row) => differenceOf({ table, key }, row)));
    }
    return { differences, differenceCount, rowCount };
  }

  async drop(): Promise<void> {
    await this.#named(() =>
      this.#options.live.script(`drop schema if exists ${quoted(this.#options.schemas.fresh)} cascade`),
    );
  }

  /** The store, and the connections to the rows in use. */
  async close(): Promise<void> {
    await this.store.close();
  }

  async #named<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof pg.DatabaseError && error.code === '55P03') {
        throw new UnavailableError(
          'store-busy',
          `Others kept tables of ${this.#options.address} locked for more than ${SWITCH_LOCK_TIMEOUT_MS / 1_000} s (a dump, or a long query). Nothing was changed; try again.`,
          { cause: error },
        );
      }
      throw faultOf(error, this.#options.address);
    }
  }
}

async function positionsIn(runner: SqlRunner): Promise<ReadonlyMap<Partition, Offset>> {
  const [rows = []] = await runner.run([readPositions(undefined)]);
  return new Map(rows.map(positionOf));
}

/** The same client, with names looked for in that schema. Of one connection that both share. */
export function inSchema(client: SqlClient, schema: string): SqlClient {
  const path = quoted(schema);
  const here: Statement = once(`set search_path to ${path}`);
  const wrap = (runner: SqlRunner): SqlRunner => ({
    run: async (statements) => (await runner.run([here, ...statements])).slice(1),
    script: (text) => runner.script(`set search_path to ${path}; ${text}`),
  });
  return {
    ...wrap(client),
    session: (work) => client.session((runner) => work(wrap(runner))),
    close: async () => {},
  };
}
