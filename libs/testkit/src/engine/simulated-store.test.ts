/** The simulated store keeps the whole contract that the stores of servers keep. */

import { projectionStoreContract } from '../contracts/projection-store.ts';
import { SimulatedStore } from './simulated-store.ts';

projectionStoreContract('simulated', async () => {
  const store = new SimulatedStore();
  return { store, other: store, close: () => store.close() };
});
