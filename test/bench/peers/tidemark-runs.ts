/** Owns how the measured processes of Tidemark start workflows and know that they have ended. */

import type { Host } from '@tidemark/host';
import { peersCalls, peersSteps } from './tidemark-workflow.ts';
import { FUNCTION_VARIABLE, givenOf, type RunRequest, WAKE } from './workspace/protocol.ts';

/** Resolves when the results of all are known. */
export async function runSteps({ client }: Host, request: RunRequest): Promise<void> {
  const workflow = process.env[FUNCTION_VARIABLE] === 'yes' ? peersCalls : peersSteps;
  await Promise.all(
    givenOf(request).map(async (given) => (await client.start(workflow, given, { id: given.id })).result()),
  );
}

export async function wakeAll({ client }: Host, request: RunRequest): Promise<void> {
  await Promise.all(givenOf(request).map(({ id }) => client.signal(id, WAKE)));
}
