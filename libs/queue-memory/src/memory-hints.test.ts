/** Runs the contract of HintBus in memory. */

import { hintBusContract } from '../../testkit/src/contracts/hint-bus.ts';
import { createMemoryHints } from './memory-hints.ts';

hintBusContract('memory', async () => {
  const bus = createMemoryHints();
  return { bus, another: async () => bus, close: () => bus.close() };
});
