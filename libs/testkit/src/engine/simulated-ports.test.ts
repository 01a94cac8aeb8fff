/** The ports of one process in memory keep the contracts that those of servers keep. */

import { hintBusContract } from '../contracts/hint-bus.ts';
import { jobQueueContract } from '../contracts/job-queue.ts';
import { livenessContract } from '../contracts/liveness.ts';
import { SimulatedHints, SimulatedLiveness, SimulatedQueue } from './simulated-ports.ts';

jobQueueContract('simulated', async () => {
  const queue = new SimulatedQueue();
  return { queue, close: () => queue.close() };
});

hintBusContract('simulated', async () => {
  const bus = new SimulatedHints();
  return { bus, another: async () => bus, close: () => bus.close() };
});

livenessContract('simulated', async () => {
  const liveness = new SimulatedLiveness();
  return { liveness, other: liveness, runsOut: false, pass: () => {}, close: () => liveness.close() };
});
