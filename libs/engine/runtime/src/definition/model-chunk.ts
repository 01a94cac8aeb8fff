/** Owns what is sent to those who watch a workflow while a step runs. Nothing of it is stored. */

import type { TaskId, WorkflowId } from '@tidemark/core';
import type { Progress } from './definition.ts';
import type { ModelDelta } from './model.ts';

/**
 * Shortest time between two reports of one task's progress, in milliseconds; longest text of a report, in characters; and tasks whose
 * latest report is remembered.
 */
export const PROGRESS_PERIOD_MS = 100;
export const PROGRESS_TEXT_MAX_CHARS = 500;
export const PROGRESS_TASKS_MAX_COUNT = 1_000;

/** The progress of a step. */
export type ProgressDelta = Progress & { readonly kind: 'progress'; readonly step: string };

/** What the workflow waits for, and how long, before a step continues. */
export interface WaitDelta {
  readonly kind: 'wait';
  readonly text: string;
}

/** A piece of a model's answer as it arrives, a step's progress, or a wait. */
export interface ModelChunk {
  readonly workflow: WorkflowId;
  /** Null: the workflow itself waits, before a step continues. */
  readonly task: TaskId | null;
  readonly delta: ModelDelta | ProgressDelta | WaitDelta;
}

/** Limits reports of progress: each is well formed and short, and a task has no more of them than a person could read. */
export class ProgressGate {
  readonly #reportedMs = new Map<TaskId | null, number>();

  /** Undefined: the task's previous report was too recent. */
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
