/** Owns telling coordinators which definitions this worker has: they check by it what callers start and send. */

import { type Host, warningLine } from '@tidemark/host';
import type { Definition } from '@tidemark/runtime';
import { UnavailableError, type Workflow } from '@tidemark/sdk';
import { registrationOf } from '@tidemark/sdk/registered';

const RETRY_MS = 1_000;

/** Resolves once all are registered, or can't be for good, which is told; waits while servers are unavailable, until `signal` aborts. */
export async function registerDefinitions(
  { client, ports }: Pick<Host, 'client' | 'ports'>,
  definitions: readonly Definition[],
  signal: AbortSignal,
): Promise<void> {
  const registrations = definitions.filter(isWorkflow).map(registrationOf);
  while (!signal.aborted) {
    try {
      return await client.registrations.register(registrations);
    } catch (error) {
      if (!(error instanceof UnavailableError)) return warningLine('definition-unregistered', (error as Error).message);
      await ports.clock.sleep(RETRY_MS, signal);
    }
  }
}

const isWorkflow = (definition: Definition): definition is Workflow => 'schemas' in definition;
