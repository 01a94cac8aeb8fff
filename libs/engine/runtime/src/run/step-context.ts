/** Owns what a step sees and may do while it runs. Must not commit anything: what a step returns is all that it changes. */

import { type LogNote, toJson } from '@tidemark/codec';
import { LimitError, type StreamState, type TaskId, type TaskState } from '@tidemark/core';
import type { Clock, Telemetry } from '@tidemark/ports';
import type { ModelCalls } from '../agent/index.ts';
import type {
  ModelAnswer,
  PhaseMemory,
  Progress,
  RecalledMemories,
  RecallOptions,
  StepContext,
  StepDefinition,
} from '../definition/index.ts';
import type { AttemptEnds, EffectJournal } from '../effects/index.ts';
import type { StreamContent } from '../history/index.ts';
import { stepSpan, traceParentOf } from '../kernel/index.ts';
import { LOG_NOTES_MAX } from './limits.ts';
import type { StepGuard } from './step-guard.ts';

export interface StepDependencies {
  readonly ports: { readonly clock: Clock; readonly telemetry: Pick<Telemetry, 'traceRatio'> };
  readonly content: StreamContent;
  readonly readOutputs: StepContext['outputs'];
  readonly readMemories: StepContext['memories'];
  readonly recall: (question: string, options: RecallOptions, signal: AbortSignal) => Promise<RecalledMemories>;
  readonly models: ModelCalls;
}

/** What one attempt has of its own. */
export interface StepOwn {
  readonly state: Pick<StreamState, 'workflow' | 'session' | 'user' | 'epoch'>;
  readonly journal: EffectJournal;
  /** Where the step's log entries go. */
  readonly notes: LogNote[];
  /** `over` ends the attempt's calls; `stepSignal` is the step's own. */
  readonly ends: Pick<AttemptEnds, 'over' | 'stepSignal'>;
  readonly onProgress: (task: TaskId | null, progress: Progress & { readonly step: string }) => void;
  readonly memory: PhaseMemory;
  readonly guard: StepGuard;
}

export function stepContext(
  step: StepDefinition,
  task: TaskState,
  { ports, content, readOutputs, readMemories, recall, models }: StepDependencies,
  { state, journal, notes, ends, onProgress, memory, guard }: StepOwn,
): StepContext {
  const { workflow, session, user, epoch } = state;
  const attempt = task.failureCount + 1;
  const log: StepContext['log'] = (action, detail) => {
    if (notes.length >= LOG_NOTES_MAX) {
      throw new LimitError('log-notes', `Step ${step.name}: at most ${LOG_NOTES_MAX} log entries fit in one step.`);
    }
    const atMs = ports.clock.nowMs();
    notes.push(detail === undefined ? { atMs, action } : { atMs, action, detail: toJson(detail, 'log detail') });
  };
  let irreversibleCount = 0;
  return {
    workflow,
    task: task.id,
    step: step.name,
    attempt,
    // Worked out for those who ask alone.
    get traceparent() {
      return traceParentOf(workflow, stepSpan(workflow, task.id, epoch, attempt), ports.telemetry.traceRatio);
    },
    input: content.input,
    belief: content.belief,
    cause: content.givenTo(task),
    get signal() {
      return ends.stepSignal;
    },
    session,
    user,
    memory,
    memories: readMemories,
    recall: async (question, options = {}) => {
      const asked = (signal: AbortSignal) => recall(question, options, signal);
      return (await guard.pass(() => journal.run('recall', asked, {}))) as unknown as RecalledMemories;
    },
    run: (name, body, options = {}) => guard.pass(() => journal.run(name, body, options)),
    effect: (effect, request, options = {}) => {
      const { question } = options;
      const called = question === undefined ? effect : models.counted(task.id, effect, question);
      if (called.kind === 'irreversible' && ++irreversibleCount === 2) log('warning', irreversibleTogether(step.name));
      return guard.pass(() => journal.effect(called, request, options));
    },
    modelCall: (request) =>
      guard.pass(async () => {
        const { effect, asked } = models.effect(task.id, request, ends.over);
        const { name } = request;
        return (await journal.effect(effect, asked, name === undefined ? {} : { name })) as unknown as ModelAnswer;
      }),
    log,
    progress: (progress) => onProgress(task.id, { ...progress, step: step.name }),
    outputs: readOutputs,
  };
}

/** The author is told where the step's history is read: no program can know before which effects a step will call. */
const irreversibleTogether = (step: string) => ({
  code: 'irreversible-together',
  result: `Step ${step} calls several irreversible effects. One that fails leaves those before it done, with no checkpoint between them: give each a step of its own.`,
});
