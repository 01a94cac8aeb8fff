/** Owns what a parked workflow asks in words: the one event that asks is read, however many came since. Reads rows. */

import { decodePayload, type Payloads } from '@tidemark/codec';
import type { EventId, WorkflowId } from '@tidemark/core';
import type { ProjectionStore } from '@tidemark/ports';

/** Undefined: rows hold no such event. */
export async function parkedQuestion(
  reads: Pick<ProjectionStore, 'events'>,
  workflow: WorkflowId,
  question: EventId,
): Promise<Payloads['WorkflowParked'] | undefined> {
  const [parked] = await reads.events(workflow, 1, { event: question });
  return parked && decodePayload('WorkflowParked', parked.payload);
}
