/**
 * Owns the contract of rebuilding rows beside those in use. Folding fills the new ones from log and archive alone. What follows from
 * neither (placements whose opening is in flight, embeddings) is copied when they replace the old ones, in one transaction. When a
 * workflow's opening is in several partitions, the rows in use say which one counts; they are never believed about a workflow that folding
 * found nowhere.
 */

import type { Offset, Partition } from '@tidemark/core';
import type { RowStore } from './projection-store.ts';

/** A row that differs from what folding the log gives. Names, never values: those may be payloads. */
export interface RowDifference {
  readonly table: string;
  /** The row's key, by column. */
  readonly key: Readonly<Record<string, string>>;
  /** `missing`: it follows from the log and is not there; `extra`: it doesn't follow from the log. */
  readonly what: 'missing' | 'extra' | 'different';
  /** Which columns differ; empty unless `different`. */
  readonly columns: readonly string[];
}

export interface RowComparison {
  /** The first of them, by table and key. */
  readonly differences: readonly RowDifference[];
  /** Number of all differences. */
  readonly differenceCount: number;
  /** Number of compared rows in use. */
  readonly rowCount: number;
  /** Texts that are sealed and could not be opened: only their presence was compared. */
  readonly unopenedCount: number;
}

/** A row whose texts are sealed on either side, and whose bytes differ. */
export interface ClosedTexts {
  readonly table: string;
  /** The row's key, and the other columns to which its texts are bound. */
  readonly key: Readonly<Record<string, string>>;
  /** The texts by column, from the row in use and from the new one. */
  readonly inUse: Readonly<Record<string, string | null>>;
  readonly made: Readonly<Record<string, string | null>>;
}

/** For each row, the columns whose contents differ; undefined: they can't be opened. */
export type CompareContents = (rows: readonly ClosedTexts[]) => Promise<readonly (readonly string[] | undefined)[]>;

export interface CompareOptions {
  /** Most differences that are listed. */
  readonly limit: number;
  /** Absent: for texts that are sealed, only their presence is compared. */
  readonly contents?: CompareContents | undefined;
}

/** Resolves once the new rows stand exactly at, or at least at, the positions of the rows in use. Throws when that takes too long. */
export type CatchUp = (positions: ReadonlyMap<Partition, Offset>) => Promise<void>;

/** What a process left that ended before its rows were in use. */
export interface UnfinishedRebuild {
  /** When it began, in milliseconds since the Unix epoch. */
  readonly begunAtMs: number;
  /** A process is working on it. */
  readonly isUnderWay: boolean;
}

export interface StoreRebuild {
  /** The new rows. Its `ensure` creates their tables, or continues with those of an unfinished earlier rebuild. Call `begin` before. */
  readonly store: RowStore;
  /**
   * Takes over an unfinished earlier rebuild if the same version folded it; otherwise, or with `isFromNothing`, drops it. Throws
   * `ConfigError` (`schema-foreign`: the schema holds something that no rebuild created; `schema-name-long`).
   */
  begin(madeBy: string, isFromNothing: boolean): Promise<void>;
  /** The positions of the rows in use. */
  positions(): Promise<ReadonlyMap<Partition, Offset>>;
  /**
   * Replaces the rows in use by the new ones, in one transaction of at most 30 s. Writers wait from its beginning, while `catchUp` runs and
   * the rows to copy are read; readers wait at its end, at most 5 s for earlier readers and a moment for the switch. This object can't be
   * used afterwards. Nothing changed when it throws: `UnavailableError` (`store-busy`: others kept the tables locked; `rebuild-misplaced`:
   * see `restart`; `rebuild-lock-lost`), `CorruptError` (`opening-missing`, `opening-unclear`), `ConfigError` (`rows-depended-on`:
   * foreign objects would be lost with the tables), and what `catchUp` throws.
   */
  switchOver(catchUp: CatchUp): Promise<void>;
  /**
   * Compares every row in use with the new ones, both at the positions that `catchUp` is given. Throws `UnavailableError` (`store-busy`,
   * `rebuild-misplaced`), and what `contents` throws.
   */
  compare(catchUp: CatchUp, options: CompareOptions): Promise<RowComparison>;
  /**
   * Empties the new rows, to be filled again from the beginning, because some workflows were opened elsewhere than the rows in use say.
   * Those are placed where folding found them.
   */
  restart(): Promise<void>;
  /** The unfinished rebuild of an earlier process. */
  unfinished(): Promise<UnfinishedRebuild | undefined>;
  /** Drops the new rows. */
  drop(): Promise<void>;
  close(): Promise<void>;
}
