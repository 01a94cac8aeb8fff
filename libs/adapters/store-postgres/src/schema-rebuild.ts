/**
 * Owns rows rebuilt in a schema beside the one in use, and the transaction in which they replace those in use. Knows neither log nor fold:
 * a rebuild fills it through a store like any other.
 *
 * R1 No reader or writer of the rows in use sees half a switch: one transaction moves the tables to their new schema, and blocks all
 *    writers.
 * R2 Rows that were carried over are those that stood in the tables in use when their writers were blocked.
 * R3 A workflow is placed where its opening was found. The rows in use choose among several openings, and are refused where they name none
 *    (I1).
 * R4 A rebuild drops nothing that no rebuild created: neither a schema, nor what others have put on the tables in use.
 * R5 Writers are blocked for a bounded time, even by a process that hangs.
 */

import { CorruptError, type Offset, type Partition, UnavailableError } from '@tidemark/core';
import type {
  CatchUp,
  CompareContents,
  CompareOptions,
  ProjectionBatch,
  RowComparison,
  RowDifference,
  RowStore,
  StoreRebuild,
  UnfinishedRebuild,
} from '@tidemark/ports';
import pg from 'pg';
import { int4s, texts } from './binary-array.ts';
import { faultOf } from './faults.ts';
import type { RebuildLock } from './rebuild-lock.ts';
import { dependedOn, RebuildSchema, type RebuildSchemaOptions, unfinishedIn } from './rebuild-schema.ts';
import { positionOf, readPositions } from './sql/coordinate.ts';
import { commitDurably, lockPlacing } from './sql/place.ts';
import { type Comparing, closedOf, comparisons, countsOf, differenceOf } from './sql/rebuild/compare-tables.ts';
import { FIND_MISPLACED, FIND_UNOPENED, KEEP_GRANTS, KEEP_STRAYS, RESTART } from './sql/rebuild/rebuild-schema.ts';
import {
  CARRY_EMBEDDINGS,
  CARRY_OVER,
  inSchemas,
  LOCK_ALL,
  LOCK_WRITERS,
  quoted,
  SWITCH_TABLES,
  WHOLE_TABLES,
} from './sql/rebuild/switch-tables.ts';
import {
  BEGIN,
  COMMIT,
  nullableText,
  numberAt,
  once,
  ROLLBACK,
  type Row,
  type Rows,
  type SqlClient,
  type SqlRunner,
  type Statement,
} from './sql-client.ts';
import { SqlProjectionStore } from './sql-projection-store.ts';

/** Longest wait for the locks on tables that are to be switched or compared: first the writers' locks, then everybody's. */
const SWITCH_LOCK_TIMEOUT_MS = 5_000;
/** Longest time in total that writers are blocked while tables are switched or compared. */
const SWITCH_MAX_MS = 30_000;
/** Longest silence of a process that blocks writers, after which it counts as dead. It is longer than catching up with them may take. */
const SWITCH_SILENCE_MAX_MS = 10_000;
/** Differences of rows that one round trip reads. */
const DIFFERENCES_PAGE_ROWS = 1_000;
/** Rows with their texts that one round trip reads when differing rows are shown; each may be as long as an event. */
const CONTENTS_PAGE_ROWS = 50;

export interface SchemaRebuildOptions extends RebuildSchemaOptions {
  readonly kind: RowStore['kind'];
  /** Undefined: nobody else uses the database, and one transaction has its only connection. */
  readonly lock: RebuildLock | undefined;
  readonly closed: () => Promise<void>;
}

const BEGIN_SNAPSHOT = once('begin isolation level repeatable read read only');

/** The transaction that blocks writers. */
interface WriterBlock {
  readonly runner: SqlRunner;
  /** Gives the next statement the time that is left, at most that many milliseconds. */
  bound(maxMs?: number): Promise<void>;
}

export class SchemaRebuild implements StoreRebuild {
  readonly store: RowStore;
  readonly #options: SchemaRebuildOptions;
  readonly #schema: RebuildSchema;

  constructor(options: SchemaRebuildOptions) {
    this.#options = options;
    this.#schema = new RebuildSchema(options);
    this.store = new FreshStore({
      kind: options.kind,
      client: options.fresh,
      address: options.address,
      ensure: () => this.#schema.ensure(),
      closed: async () => {
        await options.lock?.release();
        await options.closed();
      },
    });
  }

  begin(madeBy: string, isFromNothing: boolean): Promise<void> {
    return this.#named(() => this.#schema.begin(madeBy, isFromNothing));
  }

  positions(): Promise<ReadonlyMap<Partition, Offset>> {
    return this.#named(() => positionsIn(this.#options.live));
  }

  unfinished(): Promise<UnfinishedRebuild | undefined> {
    const { live, schemas } = this.#options;
    return this.#named(() => unfinishedIn(live, schemas.live));
  }

  async switchOver(catchUp: CatchUp): Promise<void> {
    const { live, schemas } = this.#options;
    await this.#named(async () => {
      await this.#schema.refuseDependents();
      // Most of what is carried over needs no writer to wait.
      await live.script(inSchemas(`begin; ${WHOLE_TABLES}; ${CARRY_EMBEDDINGS}; commit`, schemas));
    });
    await this.#blockingWriters(catchUp, async ({ runner, bound }) => {
      await this.#refuseUnopened(runner);
      for (const statement of CARRY_OVER) {
        await bound();
        await runner.script(inSchemas(statement, schemas));
      }
      await bound(SWITCH_LOCK_TIMEOUT_MS);
      await runner.script(inSchemas(LOCK_ALL, schemas));
      await bound();
      await this.#schema.refuseDependents(runner);
      await runner.script(inSchemas(KEEP_GRANTS, schemas));
      await runner.script(inSchemas(SWITCH_TABLES, schemas));
      await runner.run([COMMIT]);
    });
  }

  async compare(catchUp: CatchUp, options: CompareOptions): Promise<RowComparison> {
    let comparing: Promise<RowComparison> | undefined;
    await this.#blockingWriters(catchUp, async ({ runner }) => {
      if (this.#options.lock === undefined) comparing = Promise.resolve(await this.#comparison(runner, options));
      else {
        comparing = (await this.#inSnapshot((snapshot) => this.#comparison(snapshot, options))).done;
        comparing.catch(() => {});
      }
      await runner.run([ROLLBACK]);
    });
    return this.#named(() => comparing!);
  }

  restart(): Promise<void> {
    const { live, schemas } = this.#options;
    return this.#named(() => live.script(inSchemas(`begin; ${WHOLE_TABLES}; ${RESTART}; commit`, schemas)));
  }

  /** Runs the work in a transaction in which the rows in use stand still and the new ones have caught up with them. */
  #blockingWriters(catchUp: CatchUp, work: (block: WriterBlock) => Promise<void>): Promise<void> {
    const { live, lock, schemas } = this.#options;
    return this.#named(async () => {
      if (lock === undefined) await catchUp(await positionsIn(live));
      await live.session(async (runner) => {
        await runner.run([BEGIN, commitDurably]);
        const bound = boundsOf(lock === undefined ? undefined : runner);
        if (lock !== undefined) {
          await lock.check(runner);
          await runner.run([once(`set local idle_in_transaction_session_timeout = ${SWITCH_SILENCE_MAX_MS}`)]);
          await bound(SWITCH_LOCK_TIMEOUT_MS);
          await runner.run([lockPlacing]);
          await runner.script(inSchemas(LOCK_WRITERS, schemas));
          await catchUp(await positionsIn(runner));
          await bound();
        }
        await runner.script(WHOLE_TABLES);
        await this.#refuseMisplaced(runner);
        await work({ runner, bound });
      });
    });
  }

  async #refuseMisplaced(runner: SqlRunner): Promise<void> {
    const row = await this.#judge(runner, FIND_MISPLACED);
    const unclear = nullableText(row, 1);
    if (numberAt(row, 0) > 0) {
      throw new UnavailableError(
        'rebuild-misplaced',
        `${numberAt(row, 0)} workflows were opened elsewhere than the rows in use say: everything is folded again, with them where they are.`,
      );
    }
    if (unclear === null) return;
    throw new CorruptError(
      'opening-unclear',
      `The log has several openings of ${unclear}, and neither placements nor workflows in use name one of them: so it is unknown which counts. Nothing was changed; correct the column partition of their rows in placements, and run it again.`,
      { workflows: unclear },
    );
  }

  /** Without them their ids would count as free. */
  async #refuseUnopened(runner: SqlRunner): Promise<void> {
    const row = await this.#judge(runner, FIND_UNOPENED);
    const names = nullableText(row, 0);
    if (names === null) return;
    throw new CorruptError(
      'opening-missing',
      `${numberAt(row, 1)} workflows are in use (${names}), and neither log nor archive has their opening: new rows would forget them, and their ids could be started again. Nothing was changed. Find what log and archive have lost (\`tidemark admin verify\`); where such a workflow never was, delete its row in placements and run it again.`,
      { workflows: names },
    );
  }

  async #judge(runner: SqlRunner, text: string): Promise<Row> {
    const [[row = []] = []] = await runner.run([once(inSchemas(text, this.#options.schemas))]);
    return row;
  }

  /** Resolves once the snapshot is taken, to the outcome of the work in it. */
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

  async #comparison(runner: SqlRunner, { limit, contents }: CompareOptions): Promise<RowComparison> {
    await runner.script(WHOLE_TABLES);
    const differences: RowDifference[] = [];
    const sums = { differenceCount: 0, rowCount: 0, unopenedCount: 0 };
    for (const comparing of comparisons(this.#options.schemas)) {
      const [[counted = []] = []] = await runner.run([once(comparing.count)]);
      const counts = countsOf(counted);
      sums.differenceCount += counts.differenceCount;
      sums.rowCount += counts.rowCount;
      if (counts.differenceCount > 0 && differences.length < limit) {
        for await (const page of pagesOf(runner, comparing.find, DIFFERENCES_PAGE_ROWS)) {
          differences.push(...page.map((row) => differenceOf(comparing, row)));
          if (differences.length >= limit) break;
        }
      }
      if (contents === undefined) sums.unopenedCount += counts.unopenedCount;
      else if (comparing.findClosed !== undefined && counts.unopenedCount > 0) {
        const closed = await closedDifferences(runner, comparing, comparing.findClosed, contents);
        sums.differenceCount += closed.differences.length;
        sums.unopenedCount += closed.unopenedCount;
        differences.push(...closed.differences);
      }
    }
    return { differences: differences.slice(0, limit), ...sums };
  }

  async drop(): Promise<void> {
    await this.#named(() => this.#schema.drop());
  }

  /** The store, and the connections to the rows in use. */
  async close(): Promise<void> {
    await this.store.close();
  }

  async #named<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw faultOfSwitch(error, this.#options.address);
    }
  }
}

/** Records openings that the batch skips, since their workflow is placed elsewhere (R3). */
class FreshStore extends SqlProjectionStore {
  /** It runs before the batch: the opening is in the log whether the batch succeeds or not. */
  override async apply(batch: ProjectionBatch): Promise<void> {
    if (batch.opened.length > 0) await this.client.run([keepStrays(batch.opened)]);
    await super.apply(batch);
  }
}

const keepStrays = (rows: ProjectionBatch['opened']): Statement => ({
  name: 'keep-strays',
  text: KEEP_STRAYS,
  values: [texts(rows, (row) => row.workflow), int4s(rows, (row) => row.partition)],
});

/** The time that is left to a process that blocks writers, statement by statement; without a runner it is not bounded. */
function boundsOf(runner: SqlRunner | undefined): WriterBlock['bound'] {
  const untilMs = performance.now() + SWITCH_MAX_MS;
  return async (maxMs = SWITCH_MAX_MS) => {
    if (runner === undefined) return;
    // Zero would mean no limit.
    const leftMs = Math.max(1, Math.min(maxMs, Math.round(untilMs - performance.now())));
    await runner.run([once(`set local statement_timeout = ${leftMs}`), once(`set local lock_timeout = ${leftMs}`)]);
  };
}

/** Yields the rows of a query page by page, in the current transaction. */
async function* pagesOf(runner: SqlRunner, query: string, pageRows: number): AsyncIterable<Rows> {
  await runner.script(`declare tidemark_found no scroll cursor for ${query}`);
  try {
    for (;;) {
      const [rows = []] = await runner.run([once(`fetch ${pageRows} from tidemark_found`)]);
      yield rows;
      if (rows.length < pageRows) break;
    }
  } finally {
    await runner.script('close tidemark_found');
  }
}

/** Rows that differ in what their closed texts say. Only their names are kept, never the texts. */
async function closedDifferences(
  runner: SqlRunner,
  comparing: Comparing,
  query: string,
  contents: CompareContents,
): Promise<{ readonly differences: readonly RowDifference[]; readonly unopenedCount: number }> {
  const { table, key } = comparing;
  const differences: RowDifference[] = [];
  let unopenedCount = 0;
  for await (const page of pagesOf(runner, query, CONTENTS_PAGE_ROWS)) {
    const closed = page.map((row) => closedOf(comparing, row));
    for (const [at, columns] of (await contents(closed)).entries()) {
      if (columns === undefined) unopenedCount++;
      else if (columns.length > 0) {
        const name = Object.fromEntries(key.map((column) => [column, closed[at]!.key[column]!]));
        differences.push({ table, key: name, what: 'different', columns });
      }
    }
  }
  return { differences, unopenedCount };
}

/** SQLSTATEs of a lock or a whole transaction that took too long: `lock_not_available`, `query_canceled`. */
const TOO_LONG = new Set(['55P03', '57014']);
const IDLE_IN_TRANSACTION = '25P03';
const DEPENDED_ON = '2BP01';

function faultOfSwitch(error: unknown, address: string): Error {
  if (!(error instanceof pg.DatabaseError)) return faultOf(error, address);
  const { code = '', detail = '' } = error;
  if (TOO_LONG.has(code)) {
    return new UnavailableError(
      'store-busy',
      `Others kept tables of ${address} locked for more than ${SWITCH_LOCK_TIMEOUT_MS / 1_000} s (a dump, or a long query), or all of it took more than ${SWITCH_MAX_MS / 1_000} s, in which nobody could write. Nothing was changed; try again at a quieter time.`,
      { cause: error },
    );
  }
  if (code === IDLE_IN_TRANSACTION) {
    return new UnavailableError(
      'rebuild-behind',
      `This process said nothing for ${SWITCH_SILENCE_MAX_MS / 1_000} s while nobody could write, so the store ended its transaction. Nothing was changed; it resumes, or run it again.`,
      { cause: error },
    );
  }
  if (code === DEPENDED_ON) return dependedOn(detail.split('\n'));
  return faultOf(error, address);
}

async function positionsIn(runner: SqlRunner): Promise<ReadonlyMap<Partition, Offset>> {
  const [rows = []] = await runner.run([readPositions(undefined)]);
  return new Map(rows.map(positionOf));
}

/** The same client, with names resolved in that schema. Both share one connection. */
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
