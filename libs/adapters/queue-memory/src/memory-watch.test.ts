/** Runs the contract of WatchBus in process memory. */

import { watchBusContract } from '@tidemark/testkit/contracts/watch-bus';
import { createMemoryWatch } from './memory-watch.ts';

watchBusContract('memory', async () => {
  const bus = createMemoryWatch();
  return { bus, another: async () => bus, close: () => bus.close() };
});
