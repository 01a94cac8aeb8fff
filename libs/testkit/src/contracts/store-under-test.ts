/** Owns what the parts of the contract of rows see of the store under test. */

import type { RowStore } from '@tidemark/ports';

/** What the parts of the suite see. */
export interface StoreUnderTest {
  readonly store: RowStore;
  readonly other: RowStore;
  /** Adds empty partitions `[0, count)`; the store is ready then. */
  partitions(count: number): Promise<void>;
}
