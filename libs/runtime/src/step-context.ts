/** Owns what a step sees and may do while it runs. Must not commit anything: what a step returns is all that it changes. */

import { type LogNote, toJson } from '@tidemark/codec';
import { LimitError, type TaskState, type WorkflowId } from '@tidemark/core';
import type { Clock } from '@tidemark/ports';
import type { StreamContent } from './content.ts';
import type { Progress, StepContext, StepDefinition } from './definition.ts';
import type { EffectJournal } from './effect-journal.ts';
import { LOG_NOTES_MAX } from './limits.ts';

export interface StepSurroundings {
  readonly ports: { readonly clock: Clock };
  readonly workflow: WorkflowId;
  readonly content: StreamContent;
  readonly journal: EffectJournal;
  /** Where the step's log entries go. */
  readonly notes: LogNote[];
  readonly signal: AbortSignal;
  readonly onProgress?:
    | ((progress: Progress & { readonly workflow: string; readonly step: string }) => void)
    | undefined;
  readonly readOutputs: StepContext['outputs'];
}

export function stepContext(step: StepDefinition, task: TaskState, around: StepSurroundings): StepContext {
  const { ports, workflow, content, journal, notes, signal, onProgress, readOutputs } = around;
  return {
    workflow,
    task: task.id,
    step: step.name,
    attempt: task.failureCount + 1,
    input: content.input,
    belief: content.belief,
    cause: task.cause === null ? null : { ...task.cause, value: content.causeOf(task.cause.event) },
    signal,
    run: (name, body, options = {}) => journal.run(name, body, options),
    effect: (effect, request, options = {}) => journal.effect(effect, request, options),
    log: (action, detail) => {
      if (notes.length >= LOG_NOTES_MAX) {
        throw new LimitError('log-notes', `Step ${step.name}: at most ${LOG_NOTES_MAX} log entries fit in one step.`);
      }
      const atMs = ports.clock.nowMs();
      notes.push(detail === undefined ? { atMs, action } : { atMs, action, detail: toJson(detail, 'log detail') });
    },
    progress: (progress) => onProgress?.({ ...progress, workflow, step: step.name }),
    outputs: readOutputs,
  };
}
