export {
  Client,
  DEFAULT_TENANT,
  Run,
  type StartOptions,
  WORKFLOW_ID_MAX_CHARS,
  WorkflowFailedError,
} from './client.ts';
export { Coordinator, type CoordinatorOptions } from './coordinator.ts';
export type {
  ConfirmationPolicy,
  Definition,
  EffectContext,
  EffectDefinition,
  ProbeResult,
  Progress,
  RetryPolicy,
  RunOptions,
  StepContext,
  StepDefinition,
  StepResult,
  TaskRequest,
  Upcaster,
} from './definition.ts';
export { PendingResult } from './definition.ts';
export type { CallEffect } from './effect-journal.ts';
export { type GrowthOptions, type LogGrowth, startGrowthReport } from './growth.ts';
export { type Draft, HeldStream, type HeldStreamOptions } from './held-stream.ts';
export { LamportClock, type Ports } from './ports.ts';
export { DEFAULT_RETRY } from './retry.ts';
export { EffectError, FatalError, NotDoneError, ParkError } from './step-errors.ts';
export { sha256Digest, systemClock, systemPrng } from './system.ts';
export { Worker, type WorkerOptions } from './worker.ts';
