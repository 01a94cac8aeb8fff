/** Owns the shape of what one history leaves to the next one of a workflow that continues. */

import type { EventId, WorkflowId } from './ids.ts';

/** What something uses up of a budget. */
export interface Spend {
  readonly tokens: number;
  /** Millionths of a US dollar. */
  readonly costMicros: number;
}

export const NO_SPEND: Spend = { tokens: 0, costMicros: 0 };

/** A signal that came, and that no step has seen yet. */
export interface UnconsumedSignal {
  readonly name: string;
  readonly event: EventId;
  /** Of its value, as JSON; absent where whoever wrote it didn't say: it counts as none. */
  readonly sizeBytes?: number | undefined;
}

/** The workflow that this one goes on for with a fresh history, and what was left of it. */
export interface Continues {
  readonly workflow: WorkflowId;
  /** What nobody had looked at, in order; the values are in the payload. */
  readonly signals?: readonly UnconsumedSignal[] | undefined;
  /** Ids of signals that it had taken: sent again, they don't count again. */
  readonly taken?: readonly EventId[] | undefined;
  /** It was paused when it closed. */
  readonly paused?: { readonly by: string; readonly atMs: number } | undefined;
  /** What all histories before have spent, and what people added to the budget. */
  readonly spent: Spend;
  readonly raised?: Spend | undefined;
}
