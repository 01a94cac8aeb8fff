/** Owns the measured process of embedded Tidemark: coordinator, worker, log and rows in one. A standby opens the folder when it is told to. */

import { type Host, openEmbedded } from '@tidemark/host';
import { runSteps, wakeAll } from './tidemark-runs.ts';
import { peersCalls, peersSteps } from './tidemark-workflow.ts';
import { required, serve } from './workspace/child.ts';
import { ADDRESS_VARIABLE, CONCURRENCY, STANDBY_VARIABLE } from './workspace/protocol.ts';

async function open(): Promise<Host> {
  const onError = (where: string, error: unknown): void => void process.stderr.write(`${where}: ${error}\n`);
  const host = await openEmbedded({ folder: required(ADDRESS_VARIABLE) }, { onError });
  await host.startWorker({ definitions: [peersSteps, peersCalls], concurrency: CONCURRENCY, onError });
  return host;
}

let host: Host | undefined;
if (process.env[STANDBY_VARIABLE] !== 'yes') host = await open();
serve({
  run: (request) => runSteps(host!, request),
  wake: (request) => wakeAll(host!, request),
  takeOver: async () => {
    host = await open();
  },
});
