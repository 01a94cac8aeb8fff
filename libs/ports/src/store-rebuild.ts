/**
 * Owns the contract of rows made anew beside those in use. Folding fills the new ones from log and archive alone; what follows from neither
 * (placements whose opening is still on its way, embeddings) is carried over when they take the place of the old ones, in one transaction.
 */

import type { Offset, Partition } from '@tidemark/core';
import type { ProjectionStore } from './projection-store.ts';

/** A row that is not as folding the log makes it. Names, never values: those may be payloads. */
export interface RowDifference {
  readonly table: string;
  /** The row's key, by column. */
  readonly key: Readonly<Record<string, string>>;
  /** `missing`: the log says it should be there; `extra`: the log knows nothing of it. */
  readonly what: 'missing' | 'extra' | 'different';
  /** Which columns differ; empty unless `different`. */
  readonly columns: readonly string[];
}

export interface RowComparison {
  /** The first of them, by table and key. */
  readonly differences: readonly RowDifference[];
  /** How many there are in all. */
  readonly differenceCount: number;
  /** Rows that were compared, of those in use. */
  readonly rowCount: number;
}

/** Resolves once the new rows stand exactly where, or at least where, the rows in use stand. Throws where that takes too long. */
export type CatchUp = (positions: ReadonlyMap<Partition, Offset>) => Promise<void>;

export interface StoreRebuild {
  /** The new rows. `ensure` makes their tables, or goes on with those that an earlier process left unfinished. */
  readonly store: ProjectionStore;
  /** The rows in use stand there. */
  positions(): Promise<ReadonlyMap<Partition, Offset>>;
  /**
   * Puts the new rows in the place of those in use, in one transaction: writers wait for `catchUp` to return, readers for a moment.
   * Afterwards this object is done. Throws `UnavailableError` (`store-busy`: others kept the tables locked; try again), and what `catchUp`
   * throws: nothing changed then.
   */
  switchOver(catchUp: CatchUp): Promise<void>;
  /** Compares every row in use with the new ones, both at the positions that `catchUp` is given. `limit`: differences that are named. */
  compare(catchUp: CatchUp, limit: number): Promise<RowComparison>;
  /** Throws the new rows away. */
  drop(): Promise<void>;
  close(): Promise<void>;
}
