/** The simulated store reads page by page as those of servers do. */

import { beforeEach, describe } from 'vitest';
import { testPages } from '../contracts/projection-store-pages.ts';
import { at, partitionAt } from '../contracts/projection-store-rows.ts';
import { SimulatedStore } from '../engine/simulated-store.ts';

describe('projection store contract: simulated, pages', () => {
  let store: SimulatedStore;
  beforeEach(() => {
    store = new SimulatedStore();
  });
  testPages({
    get store() {
      return store;
    },
    get other() {
      return store;
    },
    partitions: (count) =>
      store.addPartitions(
        Array.from({ length: count }, (_, n) => ({ partition: partitionAt(n), start: at(0), rebuildTo: at(0) })),
      ),
  });
});
