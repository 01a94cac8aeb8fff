/** The log in memory keeps the contract that all logs keep. */

import { eventLogContract } from './contracts/event-log.ts';
import { SimulatedLog } from './simulated-log.ts';

eventLogContract('simulated', async () => {
  let log = new SimulatedLog(48);
  const again = (): SimulatedLog => {
    log = log.again();
    return log;
  };
  return { log, reopen: async () => again(), another: async () => log.again(), cleanup: async () => {} };
});
