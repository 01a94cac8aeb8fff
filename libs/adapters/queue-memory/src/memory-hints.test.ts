/** Runs the contract of HintBus in memory. */

import { hintBusContract } from '@tidemark/testkit/contracts/hint-bus';
import { createMemoryHints } from './memory-hints.ts';

hintBusContract('memory', async () => {
  const bus = createMemoryHints();
  return { bus, another: async () => bus, close: () => bus.close() };
});
