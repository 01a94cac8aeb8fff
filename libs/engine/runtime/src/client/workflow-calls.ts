/** Owns what schedules and bulk jobs do with workflows: the part of a client that they are given. */

import type { Definition, StartOptions } from '../definition/index.ts';
import type { Decided, LifecycleAsk, LifecycleDone, SignalOptions } from '../inbox/index.ts';
import type { Decision } from '../lease/index.ts';
import type { Run } from './run.ts';

/** As `Client` documents them. */
export interface WorkflowCalls
  extends Record<
    'cancel' | 'terminate' | 'pause' | 'resume',
    (workflow: string, ask: LifecycleAsk) => Promise<LifecycleDone>
  > {
  start(definition: Definition, input: unknown, options?: StartOptions): Promise<{ readonly created: boolean }>;
  run(workflow: string): Pick<Run, 'current' | 'summary'>;
  signal(workflow: string, name: string, value?: unknown, options?: SignalOptions): Promise<void>;
  decide(workflow: string, decision: Decision): Promise<Decided>;
}
