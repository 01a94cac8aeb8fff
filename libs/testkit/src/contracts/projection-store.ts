/**
 * Owns the contract of ProjectionStore as tests; every adapter runs it. `open` gives a store with its tables made and empty,
 * for each test; `other` is another process's view of the same tables (the same store, where there can be only one).
 */

import type { RowStore } from '@tidemark/ports';
import { afterEach, beforeEach, describe } from 'vitest';
import { testApplying } from './projection-store-apply.ts';
import { testApprovals } from './projection-store-approvals.ts';
import { testChildren } from './projection-store-children.ts';
import { testClaims } from './projection-store-claims.ts';
import { testCoordination } from './projection-store-coordination.ts';
import { testMemories } from './projection-store-memories.ts';
import { testOutcomes } from './projection-store-outcomes.ts';
import { testPages } from './projection-store-pages.ts';
import { testPlacement } from './projection-store-placement.ts';
import { at, partitionAt } from './projection-store-rows.ts';
import { testSearch } from './projection-store-search.ts';
import { testSpends } from './projection-store-spends.ts';
import { testTiers } from './projection-store-tiers.ts';
import type { StoreUnderTest } from './store-under-test.ts';

export { dump, type ProjectionDump, type WorkflowDump } from './projection-store-dump.ts';

export interface OpenedProjectionStore {
  readonly store: RowStore;
  readonly other: RowStore;
  close(): Promise<void>;
}

export function projectionStoreContract(name: string, open: () => Promise<OpenedProjectionStore>): void {
  describe(`projection store contract: ${name}`, () => {
    let opened: OpenedProjectionStore;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    const under: StoreUnderTest = {
      get store() {
        return opened.store;
      },
      get other() {
        return opened.other;
      },
      async partitions(count) {
        const added = Array.from({ length: count }, (_, index) => ({
          partition: partitionAt(index),
          start: at(0),
          rebuildTo: at(0),
        }));
        await opened.store.addPartitions(added);
      },
    };
    testApplying(under);
    testApprovals(under);
    testChildren(under);
    testClaims(under);
    testPlacement(under);
    testCoordination(under);
    testOutcomes(under);
    testPages(under);
    testSpends(under);
    testMemories(under);
    testTiers(under);
    testSearch(under);
  });
}
