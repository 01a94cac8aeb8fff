/** Owns the text of a parked workflow's question. It reads that one event from rows, however many events came since. */

import { decodePayload, type Payloads } from '@tidemark/codec';
import type { EventId, WorkflowId } from '@tidemark/core';
import type { ProjectionStore } from '@tidemark/ports';

/** Undefined: rows have no such event. */
export async function parkedQuestion(
  reads: Pick<ProjectionStore, 'events'>,
  workflow: WorkflowId,
  question: EventId,
): Promise<Payloads['WorkflowParked'] | undefined> {
  const [parked] = await reads.events(workflow, 1, { event: question });
  return parked && decodePayload('WorkflowParked', parked.payload);
}
