/** Owns telling coordinators which definitions this worker has: they check by it what callers start and send. */

import { type Host, warningLine } from '@tidemark/host';
import { type Definition, whileUnavailable } from '@tidemark/runtime';
import type { Workflow } from '@tidemark/sdk';
import { registrationOf } from '@tidemark/sdk/registered';

/** Resolves once all are registered, or some can't be for good, which is told; waits while servers are unavailable, until `signal` aborts. */
export async function registerDefinitions(
  { client, ports }: Pick<Host, 'client' | 'ports'>,
  definitions: readonly Definition[],
  signal: AbortSignal,
): Promise<void> {
  try {
    const registrations = definitions.filter(isWorkflow).map(registrationOf);
    await whileUnavailable(ports.clock, signal, () => client.registrations.register(registrations));
  } catch (error) {
    if (!signal.aborted) warningLine('definition-unregistered', (error as Error).message);
  }
}

const isWorkflow = (definition: Definition): definition is Workflow => 'schemas' in definition;
