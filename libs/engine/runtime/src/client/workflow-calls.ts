/** Owns the part of a client that schedules and bulk jobs use. */

import type { Definition, DerivedStart, StartOptions } from '../definition/index.ts';
import type { ResetDone, ResetOptions } from '../forks/index.ts';
import type { ApprovalAnswer, Decided, LifecycleAsk, LifecycleDone, SignalOptions } from '../inbox/index.ts';
import type { Decision } from '../lease/index.ts';
import type { Run } from './run.ts';

/** See `Client`. */
export interface WorkflowCalls
  extends Record<
    'cancel' | 'terminate' | 'pause' | 'resume',
    (workflow: string, ask: LifecycleAsk) => Promise<LifecycleDone>
  > {
  start(definition: Definition, input: unknown, options?: StartOptions): Promise<{ readonly created: boolean }>;
  startDerived(definition: Definition, input: unknown, options: DerivedStart): Promise<{ readonly created: boolean }>;
  run(workflow: string): Pick<Run, 'current' | 'summary'>;
  signal(workflow: string, name: string, value?: unknown, options?: SignalOptions): Promise<void>;
  decide(workflow: string, decision: Decision): Promise<Decided>;
  approve(workflow: string, task: string, answer: ApprovalAnswer): Promise<{ readonly changed: boolean }>;
  reset(workflow: string, options: ResetOptions): Promise<ResetDone>;
}
