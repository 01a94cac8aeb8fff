/** Owns how the measured processes of Tidemark start workflows and know that they have ended. */

import type { Host } from '@tidemark/host';
import { peersCalls, peersSteps } from './tidemark-workflow.ts';
import { FUNCTION_VARIABLE, givenOf, type RunRequest } from './workspace/protocol.ts';

const LOOK_PERIOD_MS = 5;

/** Resolves when all are closed in the rows. */
export async function runSteps({ client, ports }: Host, request: RunRequest): Promise<void> {
  const all = givenOf(request);
  const workflow = process.env[FUNCTION_VARIABLE] === 'yes' ? peersCalls : peersSteps;
  await Promise.all(all.map((given) => client.start(workflow, given, { id: given.id })));
  for (;;) {
    const counts = await ports.store.counts();
    if (counts.openCount === 0 && counts.unappendedCount === 0) return;
    await ports.clock.sleep(LOOK_PERIOD_MS);
  }
}
