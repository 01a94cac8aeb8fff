/** Owns what those who watch a workflow are told while a step runs; nothing of it is stored. */

import type { TaskId, WorkflowId } from '@tidemark/core';
import type { Progress } from './definition.ts';
import type { ModelDelta } from './model.ts';

/** How often, in milliseconds, it is told how far a task's step is; the longest text with it, in characters; and tasks of which that is known. */
export const PROGRESS_PERIOD_MS = 100;
export const PROGRESS_TEXT_MAX_CHARS = 500;
export const PROGRESS_TASKS_MAX_COUNT = 1_000;

/** How far a step says that it is. */
export type ProgressDelta = Progress & { readonly kind: 'progress'; readonly step: string };

/** A piece of a model's answer as it comes, or how far a step is. */
export interface ModelChunk {
  readonly workflow: WorkflowId;
  /** Null: it is the workflow that waits, before a step goes on. */
  readonly task: TaskId | null;
  readonly delta: ModelDelta | ProgressDelta;
}

/** Lets through what steps say of how far they are: well formed, short, and of each task no more often than anybody could read. */
export class ProgressGate {
  readonly #reportedMs = new Map<TaskId | null, number>();

  /** Undefined: it was told just now. */
  take(
    task: TaskId | null,
    { step, done, total, text }: Progress & { readonly step: string },
    nowMs: number,
  ): ProgressDelta | undefined {
    if (nowMs - (this.#reportedMs.get(task) ?? Number.NEGATIVE_INFINITY) < PROGRESS_PERIOD_MS) return undefined;
    if (this.#reportedMs.size >= PROGRESS_TASKS_MAX_COUNT) this.#reportedMs.clear();
    this.#reportedMs.set(task, nowMs);
    const words = typeof text === 'string' ? { text: text.slice(0, PROGRESS_TEXT_MAX_CHARS) } : {};
    return { kind: 'progress', step, done: amount(done), total: amount(total), ...words };
  }
}

const amount = (given: unknown): number => (typeof given === 'number' && Number.isFinite(given) ? given : 0);
