/** The entry point of the room: what other rooms of the engine may use. */
export {
  type Loop,
  type LoopOptions,
  type LoopState,
  pollRestMs,
  startLoop,
  WOKEN,
  whileUnavailable,
} from './backoff.ts';
export { isEndForgotten, isForgotten } from './forgotten.ts';
export { Gathering, type GatheringLimits } from './gathering.ts';
export { check, failingCheck, type Health, progressCheck, recentCheck } from './health.ts';
export { type KnownOptions, refuseUnknownOptions } from './known-options.ts';
export { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, TIMER_MAX_MS, WAITS_PER_TASK_MAX } from './limits.ts';
export { type ListPlace, pageOf } from './list-pages.ts';
export {
  ACCESS_SUBJECT,
  BUDGET_ENTRY,
  BULK_ACTS,
  type BulkAct,
  CANCELLING,
  DEFINITIONS_SUBJECT,
  EFFECT_DONE_BEFORE,
  EFFECT_NOT_RECORDED,
  historyForgotten,
  isWorker,
  OVERLAPS,
  type Overlap,
  PAUSED,
  QUEUES_SUBJECT,
  RETENTION_SUBJECT,
  rowsRebuilding,
  SCHEDULE_SUFFIX,
  TASKS_DROPPED,
  UNDOING,
  UNREADABLE,
  workerHolder,
  workflowStarting,
  workflowUnknown,
} from './names.ts';
export { overridden } from './overridden.ts';
export { Pace } from './pace.ts';
export {
  type ColdHistory,
  type DeletedStretch,
  type FieldKeys,
  LamportClock,
  type Ports,
  type SessionMemory,
} from './ports.ts';
export { Reconcilers } from './reconcilers.ts';
export {
  backoffMs,
  DEFAULT_RETRY,
  NO_RETRY,
  passingDelayMs,
  type RetryOptions,
  type RetryPolicy,
  retryDelayMs,
  retryPolicy,
} from './retry.ts';
export { RunGate } from './run-gate.ts';
export {
  Guarded,
  guardOf,
  type OnSecret,
  onSecretOf,
  ownContent,
  reportSecrets,
  SecretGuard,
  type SecretPolicy,
  type SecretPorts,
  type StoredSecret,
} from './secret-guard.ts';
export { storableText, textOf } from './storable-text.ts';
export { digestOf, placeOf, sha256Digest } from './system.ts';
export { effectSpan, leaseSpan, queueSpan, stepSpan, traceParentOf, workflowSpan } from './trace-ids.ts';
