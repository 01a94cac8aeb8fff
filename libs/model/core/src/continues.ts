/** Owns the shape of what one run of a workflow that continues as new passes to the next run. */

import type { EventId, WorkflowId } from './ids.ts';
import type { Spend } from './spend.ts';

/** A signal that arrived and that no step has consumed. */
export interface UnconsumedSignal {
  readonly name: string;
  readonly event: EventId;
  /** Size of its value as JSON; absent where the writer didn't record it: it counts as 0. */
  readonly sizeBytes?: number | undefined;
}

/** The run that this one continues, and what was unfinished there. */
export interface Continues {
  readonly workflow: WorkflowId;
  /** Signals that no step consumed, in order; their values are in the payload. */
  readonly signals?: readonly UnconsumedSignal[] | undefined;
  /** Ids of signals that the earlier run accepted: sent again, they are duplicates. */
  readonly taken?: readonly EventId[] | undefined;
  /** The earlier run was paused when it closed. */
  readonly paused?: { readonly by: string; readonly atMs: number } | undefined;
  /** What all earlier runs spent, and what people added to the budget. */
  readonly spent: Spend;
  readonly raised?: Spend | undefined;
}
