/**
 * Owns the contract of rows rebuilt beside those in use. Folding fills the new ones from log and archive alone; what follows from neither
 * (placements whose opening is still on its way, embeddings) is carried over when they take the place of the old ones, in one transaction.
 * Of a workflow's opening in several partitions the rows in use tell the one that counts; they are never believed about one that folding
 * found nowhere.
 */

import type { Offset, Partition } from '@tidemark/core';
import type { RowStore } from './projection-store.ts';

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
  /** Texts among them that are sealed, or in blobs, and could not be opened: that they are there was compared, not what they say. */
  readonly unopenedCount: number;
}

/** A row whose texts are sealed, or in blobs, on either side, and not by the same bytes. */
export interface ClosedTexts {
  readonly table: string;
  /** The row's key, and what else its texts are bound to, by column. */
  readonly key: Readonly<Record<string, string>>;
  /** The texts, by column: as the row in use has them, and as the new one does. */
  readonly inUse: Readonly<Record<string, string | null>>;
  readonly made: Readonly<Record<string, string | null>>;
}

/** Which columns of each row say something else; undefined: they can't be opened. */
export type CompareContents = (rows: readonly ClosedTexts[]) => Promise<readonly (readonly string[] | undefined)[]>;

export interface CompareOptions {
  /** Differences that are named. */
  readonly limit: number;
  /** Absent: of texts that are sealed or in blobs, it is compared that they are there. */
  readonly contents?: CompareContents | undefined;
}

/** Resolves once the new rows stand exactly where, or at least where, the rows in use stand. Throws where that takes too long. */
export type CatchUp = (positions: ReadonlyMap<Partition, Offset>) => Promise<void>;

/** What a process left that ended before its rows were in use. */
export interface UnfinishedRebuild {
  /** When it began, in milliseconds since the Unix epoch. */
  readonly begunAtMs: number;
  /** A process is at it. */
  readonly isUnderWay: boolean;
}

export interface StoreRebuild {
  /** The new rows. `ensure` makes their tables, or goes on with those that an earlier process left unfinished. Call `begin` before. */
  readonly store: RowStore;
  /**
   * Takes what an earlier process left, where the same version folded it; else, or from nothing, throws it away. Throws `ConfigError`
   * (`schema-foreign`: there is something that no rebuild made; `schema-name-long`).
   */
  begin(madeBy: string, isFromNothing: boolean): Promise<void>;
  /** The rows in use stand there. */
  positions(): Promise<ReadonlyMap<Partition, Offset>>;
  /**
   * Puts the new rows in the place of those in use, in one transaction of 30 s at most: writers wait from its beginning, while `catchUp`
   * runs and what is carried over is read; readers wait at its end, 5 s at most for those who are before them and a moment for the switch.
   * Afterwards this object is done. Nothing changed when it throws: `UnavailableError` (`store-busy`: others kept the tables locked;
   * `rebuild-misplaced`: see `placeAnew`; `rebuild-lock-lost`), `CorruptError` (`opening-missing`, `opening-unclear`), `ConfigError`
   * (`rows-depended-on`: things of others would be lost with the tables), and what `catchUp` throws.
   */
  switchOver(catchUp: CatchUp): Promise<void>;
  /**
   * Compares every row in use with the new ones, both at the positions that `catchUp` is given. Throws `UnavailableError` (`store-busy`,
   * `rebuild-misplaced`), and what `contents` throws.
   */
  compare(catchUp: CatchUp, options: CompareOptions): Promise<RowComparison>;
  /**
   * Empties the new rows, to be filled from the beginning: some workflows were opened elsewhere than the rows in use say. They are placed
   * where folding found them.
   */
  placeAnew(): Promise<void>;
  /** What a process left that made rows to be switched. */
  unfinished(): Promise<UnfinishedRebuild | undefined>;
  /** Throws the new rows away. */
  drop(): Promise<void>;
  close(): Promise<void>;
}
