/** Owns what those who watch a workflow are told of a model's answer. */

import type { TaskId, WorkflowId } from '@tidemark/core';
import type { ModelDelta } from './model.ts';

/** A piece of a model's answer, as it comes. */
export interface ToldDelta {
  readonly workflow: WorkflowId;
  readonly task: TaskId;
  readonly delta: ModelDelta;
}
