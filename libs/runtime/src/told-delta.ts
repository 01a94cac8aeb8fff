/** Owns what those who watch a workflow are told while a step runs; nothing of it is stored. */

import type { TaskId, WorkflowId } from '@tidemark/core';
import type { Progress } from './definition.ts';
import type { ModelDelta } from './model.ts';

/** How far a step says that it is. */
export type ProgressDelta = Progress & { readonly kind: 'progress'; readonly step: string };

/** A piece of a model's answer as it comes, or how far a step is. */
export interface ToldDelta {
  readonly workflow: WorkflowId;
  /** Null: it is the workflow that waits, before a step goes on. */
  readonly task: TaskId | null;
  readonly delta: ModelDelta | ProgressDelta;
}
