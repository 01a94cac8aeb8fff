/**
 * Owns one attempt at a step: its context, its journal, and what it returned. Must not commit anything, nor judge its failure: the
 * runner does.
 */

import type { LogNote } from '@tidemark/codec';
import type { TaskState } from '@tidemark/core';
import { type ModelCalls, mayBringSummaries, withSummaries } from '../agent/index.ts';
import {
  type Definition,
  outOfScope,
  type PhaseMemory,
  type StepContext,
  type StepResult,
} from '../definition/index.ts';
import { type AttemptEnds, type Drain, EffectJournal, type JournalHost } from '../effects/index.ts';
import type { ContextReads, ResolvedTask, StreamContent } from '../history/index.ts';
import type { Ports } from '../kernel/index.ts';
import type { LeasedStream } from '../lease/index.ts';
import { hasOpen } from './journal-host.ts';
import { type StepDependencies, type StepOwn, stepContext } from './step-context.ts';
import { StepGuard } from './step-guard.ts';

export interface AttemptDependencies {
  readonly ports: Pick<Ports, 'clock' | 'telemetry'>;
  readonly definition: Definition;
  readonly stream: LeasedStream;
  readonly content: StreamContent;
  readonly drain?: Pick<Drain, 'begin'> | undefined;
  readonly onProgress?: StepOwn['onProgress'] | undefined;
  readonly readOutputs: StepContext['outputs'];
  readonly readMemories: StepContext['memories'];
  readonly recall: StepDependencies['recall'];
  readonly reads: ContextReads;
  readonly models: ModelCalls;
}

/** What an attempt came to. */
export interface PerformedStep {
  readonly result: StepResult;
  readonly notes: readonly LogNote[];
  readonly phase: string | undefined;
}

/** `ends` ends this attempt alone. */
export async function attemptStep(
  { step, input }: ResolvedTask,
  task: TaskState,
  ends: AttemptEnds,
  host: JournalHost,
  dependencies: AttemptDependencies,
): Promise<PerformedStep> {
  const { definition, drain, onProgress, stream, ports } = dependencies;
  const notes: LogNote[] = [];
  const guard = new StepGuard(step.name);
  const attempt = drain?.begin(definition.name, step.name, {
    abandon: (reason) => ends.abort(reason),
    isCalling: () => hasOpen(stream.speculative, task.id),
  });
  const journal = new EffectJournal(host, task.id, ends);
  let isWhole = false;
  try {
    const memory = await phaseMemory(step.name, dependencies);
    const context = stepContext(step, task, dependencies, {
      state: stream.speculative,
      ends,
      journal,
      notes,
      memory,
      guard,
      onProgress: (of, progress) => {
        attempt?.progress(progress);
        onProgress?.(of, progress);
      },
    });
    const run = (): ReturnType<typeof step.run> => step.run(context, input);
    const { within } = ports.telemetry;
    const running = within === undefined ? run() : within(() => context.traceparent, run);
    const result = await ends.unlessOver(Promise.resolve(running));
    guard.isOver = true;
    guard.check();
    const own = result ?? {};
    const whole = mayBringSummaries(own)
      ? await withSummaries(own, task, journal, { ...dependencies, signal: ends.over })
      : own;
    isWhole = true;
    return { result: whole, notes, phase: memory.phase };
  } finally {
    guard.isOver = true;
    attempt?.end(isWhole);
    const closing = journal.close();
    if (closing !== undefined) await closing;
  }
}

const NO_PHASES: PhaseMemory = {
  phase: undefined,
  keys: [],
  get: (key) => {
    throw outOfScope({ phase: '', memory: {}, gone: {} }, key, 'ctx.memory (the definition has no phases)');
  },
};

/** Working memory as it is when the step begins. */
async function phaseMemory(step: string, dependencies: AttemptDependencies): Promise<PhaseMemory> {
  const { definition, stream, content, reads, ports } = dependencies;
  const firstPhase = definition.context?.firstPhase;
  if (firstPhase === undefined) return NO_PHASES;
  const { workflow, head } = stream.speculative;
  const scope = await content.context.scope(reads, workflow, head.sequence, firstPhase);
  return {
    phase: scope.phase,
    keys: Object.keys(scope.memory).sort(),
    get: (key) => {
      if (Object.hasOwn(scope.memory, key)) return scope.memory[key]!;
      ports.telemetry.count('memory_scope_violations_total', 1, { phase: scope.phase });
      throw outOfScope(scope, key, `${definition.name}, step ${step}`);
    },
  };
}
